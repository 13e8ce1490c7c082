"""What a door lets in by Standard Webhooks is what the published vectors say, garbage among them."""

from __future__ import annotations

import pytest

from steadhold.inboxes.schemes import Proven, secret_of, verify
from tests.suites.test_standard_webhooks import body_of, rows


def lets_in(row):
    """The verdict of a door whose time may be off by 300 seconds, as in every row that says so."""
    headers = {name.lower(): value for name, value in row["headers"].items()}
    return isinstance(
        verify("standard", [secret_of("standard", row["secret"])], headers, body_of(row), row["now"]), Proven
    )


def test_a_door_answers_as_the_published_verifiers_must():
    asked = [row for row in rows("verify") if row["tolerance_seconds"] == 300 and not row.get("open")]
    assert len(asked) >= 56
    assert [row["name"] for row in asked if lets_in(row) != row["valid"]] == []


def usable(row):
    try:
        secret_of("standard", row["secret"])
    except ValueError:
        return False
    return True


def test_secrets_are_those_that_the_specification_has():
    asked = [row for row in rows("secrets") if row["use"] == "v1" and not row.get("open")]
    assert len(asked) >= 8
    assert [row["why"] for row in asked if usable(row) != row["valid"]] == []


@pytest.mark.parametrize("text", ["whsk_" + "A" * 88, "whpk_" + "A" * 44])
def test_a_key_that_is_not_shared_is_no_secret_of_a_door(text):
    with pytest.raises(ValueError, match="base64"):
        secret_of("standard", text)
