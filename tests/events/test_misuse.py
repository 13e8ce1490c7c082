"""What no door would take, the library does not either, and says why before anything is asked of the database."""

from __future__ import annotations

import pytest

from steadhold import events
from steadhold.events import Happened, Spec
from steadhold.kit.rules import Misuse


@pytest.mark.parametrize("told, why", [
    (Happened("a b"), "type: An id holds"), (Happened(""), "type: An id has"),
    (Happened("t", event_id="x@2"), "@ and a number"),
    (Happened("t", correlation_id="a/b"), "correlation_id: "), (Happened("t", causation_id=""), "causation_id: "),
    (Happened("t", b"1", "r"), "or a data_ref"), (Happened("t", b"x" * 65_537), "at most 65536 bytes"),
    (Happened("t", data_ref=""), "1 to 1000 characters"), (Happened("t", data_ref="a\0"), "no NUL"),
    (Happened("t", schema_version=0), "1 or more"),
])  # fmt: skip
def test_an_event_that_cannot_be_is_told(conn, workspace, told, why):
    with pytest.raises(Misuse, match=why):
        events.append(conn, workspace, "o", None, [Happened("t"), told])


@pytest.mark.parametrize("id, more", [("a/b", {}), ("", {}), ("o", {"state": "a b"}), ("o", {"aggregate_type": ""})])
def test_an_aggregate_that_cannot_be_is_told(conn, workspace, id, more):
    with pytest.raises(Misuse):
        events.append(conn, workspace, id, None, [Happened("t")], **more)


def test_an_owner_is_its_lock_or_a_job(conn, workspace):
    with pytest.raises(ValueError, match="the owner of o is lock:o"):
        events.append(conn, workspace, "o", None, [Happened("t")], owner="lock:other")


@pytest.mark.parametrize("spec", [
    Spec(("",), "inbox:x"), Spec(("*",), "x"), Spec(("*",), "inbox:a/b"), Spec(("a\0",), "inbox:x"),
    Spec(("*",), "inbox:x", ("",)),
])  # fmt: skip
def test_a_subscription_that_cannot_be_is_told(conn, workspace, spec):
    with pytest.raises(Misuse):
        events.subscribe(conn, workspace, "s", spec, None)
