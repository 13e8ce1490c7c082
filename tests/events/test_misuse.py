"""What no door would take, the library does not either, and says why before anything is asked of the database."""

from __future__ import annotations

from datetime import UTC, datetime

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


@pytest.mark.parametrize("verb, said", [
    ("aggregate", ("a b",)), ("require", ("o", -1)), ("get_type", ("",)), ("types", ("", 0)),
    ("aggregates", ("", 1_001)),
    ("history", ("a b", 0, 10)), ("history", ("o", -1, 10)), ("history", ("o", 0, 0)), ("get", ("a b",)),
    ("causes", ("e", 0)), ("causes", ("e", 101)), ("subscription", ("a/b",)), ("subscriptions", ("", 0)),
    ("unsubscribe", ("a b", 1)), ("unsubscribe", ("s", -1)), ("publications", ("lost", None, 1)),
    ("publications", ("parked", None, 0)), ("retry", ("no-uuid",)), ("skip", ("",)),
    ("replay", ("s", datetime(2026, 1, 1), datetime(2026, 1, 2, tzinfo=UTC), ("", 0), 1)),  # noqa: DTZ001
])  # fmt: skip
def test_who_reads_or_steers_is_told_what_cannot_be(conn, workspace, verb, said):
    with pytest.raises(Misuse):
        getattr(events, verb)(conn, workspace, *said)
