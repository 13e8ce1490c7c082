"""`make` loads only files of which a test can be chosen, and never too few."""

from __future__ import annotations

import pytest

from tests.conftest import _may_be_chosen

REST = "not (races or journeys or docs or tidy or soak)"
MARKED = "import a\npytestmark = pytest.mark.journeys\n"


@pytest.mark.parametrize(
    "chosen, tier, text, left_out",
    [
        ("", "races", "", False),
        ("not soak", "races", "", False),
        ("races and not soak", "races", "@pytest.mark.soak", False),
        ("races and not soak", "journeys", "", True),
        ("races and not soak", None, "", True),
        ("races and not soak", None, "@pytest.mark.races", False),
        ("soak", "journeys", "", True),
        ("soak", "journeys", "pytest.param(1, marks=pytest.mark.soak)", False),
        (REST, None, "", False),
        (REST, None, "@pytest.mark.journeys\ndef test_a(): ...", False),  # of one test
        (REST, None, MARKED, True),
        (REST, None, "pytestmark = [pytest.mark.journeys, pytest.mark.usefixtures('a')]", True),
        (REST, None, "pytestmark = pytest.mark.usefixtures('a')", False),
        (REST, "journeys", MARKED, True),
        ("journeys and not soak", None, MARKED, False),
        ("races and not soak", None, MARKED, True),
        (f"database and {REST}", None, "", False),
        (REST, "tidy", "", True),
        ("anything else", None, "", False),
        ("unheard_of", None, "", False),
    ],
)
def test_a_file_is_left_out_when_no_test_of_it_can_be_chosen(chosen, tier, text, left_out):
    assert _may_be_chosen(chosen, tier, text) is not left_out
