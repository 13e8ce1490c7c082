"""Identities and receipts on real PostgreSQL."""

from __future__ import annotations

import time
from datetime import timedelta

import psycopg
import pytest

from steadhold import events, operations
from steadhold.events import Appended
from steadhold.kit.ids import new_id, uuid7
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Call, each
from steadhold.operations import (
    InFlightHere,
    NotCommitted,
    OperationAbandoned,
    OperationClock,
    OperationExpired,
    OperationMismatch,
    Replayed,
    Sealed,
)
from steadhold.operations.plans import SQL
from steadhold.play.caller import play
from tests.operations.effects import make, under

DAY = 86_400


def exists(conn, workspace, name="thing"):
    with conn.transaction():
        return not isinstance(events.aggregate(conn, workspace, name), Missing)


def count(conn, table, workspace):
    return conn.execute(f"select count(*) from steadhold.{table} where workspace = %s", [workspace]).fetchone()[0]


def aged_id(seconds):
    return uuid7(time.time_ns() // 1_000_000 + int(seconds * 1000), b"0123456789")


def test_the_second_call_under_a_key_does_nothing_and_gives_the_first_outcome(conn, workspace):
    first = operations.once(conn, workspace, "k", b"f", make(workspace))
    second = operations.once(conn, workspace, "k", b"f", make(workspace))
    assert isinstance(first, Appended)
    assert isinstance(second, Replayed)
    assert second.into(Appended) == first
    assert second.receipt.kind == "events.append"


async def test_it_plays_on_an_asynchronous_connection_too(aconn, workspace):
    first = await operations.once(aconn, workspace, "k", b"f", make(workspace))
    second = await operations.once(aconn, workspace, "k", b"f", make(workspace))
    assert second.into(Appended) == first


def test_a_call_of_another_workspace_is_misuse(conn, workspace):
    with pytest.raises(ValueError, match="name one"):
        operations.once(conn, workspace, "k", b"f", make("elsewhere"))


def test_the_receipt_has_what_was_sealed(conn, workspace):
    sealed = Sealed(201, b'{"a":1}', "application/json", (("location", "/x"),), "thing:1", 7, 9)
    who = {"subject": "me", "scope": "state:write", "scoped": "team/a", "kind": "state.put"}
    play(conn, operations.receipted(make(workspace), key="k", fingerprint=b"f", seal=lambda _: sealed, **who))
    found = operations.look(conn, workspace, "k")
    assert (found.state, found.kind, found.scope, found.scoped, found.subject) == (
        *("committed", "state.put", "state:write", "team/a", "me"),
    )
    assert (found.status, found.body, found.headers) == (201, b'{"a":1}', (("location", "/x"),))
    assert (found.resource, found.revision, found.fence) == ("thing:1", 7, 9)


def test_another_request_under_the_key_is_refused(conn, workspace):
    play(conn, under("k", make(workspace)))
    assert play(conn, under("k", make(workspace, "other"), b"g")) == OperationMismatch("k")
    assert not exists(conn, workspace, "other")


def test_a_refusal_leaves_the_key_free_whatever_else_the_caller_commits(committed, workspace):
    with committed.transaction():
        play(committed, make(workspace))
    with committed.transaction():
        refused = play(committed, under("k", make(workspace)))
        play(committed, make(workspace, "mine"))
    assert refused == RevisionConflict(1)
    assert exists(committed, workspace, "mine")
    assert count(committed, "claims", workspace) == 0
    with committed.transaction():
        assert isinstance(play(committed, under("k", make(workspace, "other"), b"g")), Appended)


def test_nothing_is_kept_of_a_call_that_is_rolled_back(committed, workspace):
    with committed.transaction(force_rollback=True):
        play(committed, under("k", make(workspace)))
    assert count(committed, "claims", workspace) == count(committed, "receipts", workspace) == 0


def test_an_abandoned_operation_never_takes_effect(conn, workspace):
    assert operations.look(conn, workspace, "k") == NotCommitted("k")
    assert operations.abandon(conn, workspace, "k", subject="me").state == "abandoned"
    assert play(conn, under("k", make(workspace))) == OperationAbandoned("k")
    assert not exists(conn, workspace)
    assert operations.abandon(conn, workspace, "k").subject == "me"


def test_abandoning_what_has_committed_gives_its_receipt(conn, workspace):
    play(conn, under("k", make(workspace)))
    assert operations.abandon(conn, workspace, "k").state == "committed"
    assert isinstance(play(conn, under("k", make(workspace))), Replayed)


def test_a_twin_in_the_same_transaction_is_told_to_begin_again(conn, workspace):
    def within():
        return (yield from under("k", make(workspace)).begin())

    assert play(conn, under("k", Call(within, workspace, "nested"))) == InFlightHere("k")


def test_of_twins_in_one_statement_the_first_gets_the_key(conn, workspace):
    def claims():
        item = {"workspace": workspace, "born_ms": None, "ahead_seconds": 300.0, "kept_seconds": 1.0 * DAY}
        items = [{**item, "key": key, "fingerprint": b"f"} for key in ("k", "other", "k")]
        return (yield from each(SQL.claim, items))

    taken = play(conn, Call(claims, workspace, "claims"))
    assert [hand[0][0] for hand in taken] == [True, True, False]


@pytest.mark.parametrize("verb", ["play", "abandon"])
def test_an_id_from_the_future_is_refused(conn, workspace, verb):
    key = aged_id(330)
    outcome = play(conn, under(key, make(workspace))) if verb == "play" else operations.abandon(conn, workspace, key)
    assert isinstance(outcome, OperationClock)
    assert not exists(conn, workspace)
    assert isinstance(play(conn, under(aged_id(270), make(workspace))), Appended)


@pytest.mark.parametrize("verb", ["play", "abandon", "look"])
def test_an_id_older_than_receipts_is_refused(conn, workspace, verb):
    key = aged_id(-7 * DAY - 30)
    outcome = {
        "play": lambda: play(conn, under(key, make(workspace))),
        "abandon": lambda: operations.abandon(conn, workspace, key),
        "look": lambda: operations.look(conn, workspace, key),
    }[verb]()
    assert isinstance(outcome, OperationExpired)
    assert not exists(conn, workspace)
    assert count(conn, "claims", workspace) == 0
    assert isinstance(play(conn, under(aged_id(-7 * DAY + 30), make(workspace))), Appended)


def test_a_receipt_leaves_with_its_claim_and_then_its_id_is_too_old(committed, workspace, clock):
    key, opaque = new_id(), "opaque"
    with committed.transaction():
        play(committed, under(key, make(workspace)))
        play(committed, under(opaque, make(workspace, "other")))
    purge = operations.purge.call(workspace, 10)
    clock.move(7 * DAY + 270)
    with committed.transaction():
        assert play(committed, purge) == 0
        assert isinstance(play(committed, under(key, make(workspace))), OperationExpired)
    clock.move(60)
    with committed.transaction():
        assert play(committed, purge) == 2
    assert count(committed, "claims", workspace) == count(committed, "receipts", workspace) == 0
    with committed.transaction():
        assert isinstance(play(committed, under(key, make(workspace))), OperationExpired)
        assert isinstance(operations.look(committed, workspace, key), OperationExpired)
        assert isinstance(play(committed, under(opaque, make(workspace, "third"))), Appended)


def test_an_id_as_old_as_what_was_purged_stays_refused_when_the_window_grows(committed, workspace, clock):
    key = new_id()
    with committed.transaction():
        play(committed, under(key, make(workspace)))
    clock.move(8 * DAY)
    with committed.transaction():
        play(committed, operations.purge.call(workspace, 10))
        assert isinstance(play(committed, under(key, make(workspace), kept_seconds=30 * DAY)), OperationExpired)


def test_a_purge_takes_no_more_than_it_is_told_and_nothing_elsewhere(committed, workspace, database, clock):
    with committed.transaction():
        for n in range(3):
            play(committed, under(f"k{n}", make(workspace, f"thing{n}")))
    clock.move(8 * DAY)
    with committed.transaction():
        assert play(committed, operations.purge.call(workspace, 2)) == 2
    with database.enter(database.new_workspace()) as elsewhere, elsewhere.transaction():
        asked = "select steadhold.purge_operations(%s, 0, 0, 10)"
        assert elsewhere.execute(asked, [workspace]).fetchone() == (0,)
    assert count(committed, "receipts", workspace) == 1


def test_a_workspace_is_due_once_a_receipt_is_past_its_window(committed, workspace, clock):
    asked = "select duty from steadhold.due_operations() where workspace = %s"
    with committed.transaction():
        play(committed, under("k", make(workspace)))
    assert committed.execute(asked, [workspace]).fetchall() == []
    clock.move(8 * DAY)
    assert committed.execute(asked, [workspace]).fetchall() == [("operations.purge",)]


@pytest.mark.parametrize(
    "statement",
    [
        "update steadhold.receipts set status = 500",
        "delete from steadhold.receipts",
        "update steadhold.claims set fingerprint = ''",
        "delete from steadhold.receipt_horizons",
    ],
)
def test_the_application_may_not_rewrite_what_happened(conn, statement):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(statement)


def test_a_claim_that_has_a_receipt_cannot_be_taken_back(conn, workspace):
    play(conn, under("k", make(workspace)))
    assert conn.execute("delete from steadhold.claims").rowcount == 0


def test_receipts_are_listed_by_key(conn, workspace):
    for key in ("b", "a", "C"):
        operations.abandon(conn, workspace, key)
    assert [r.key for r in operations.receipts(conn, workspace, "", 2)] == ["C", "a"]
    assert [r.key for r in operations.receipts(conn, workspace, "a", 2)] == ["b"]


def test_receipts_of_a_resource_are_found_by_when_they_were_kept(conn, workspace):
    for key, resource in (("mine", "job:1"), ("other", "job:2"), ("none", None)):
        sealed = Sealed(201, resource=resource)
        made = make(workspace, key)
        play(conn, operations.receipted(made, key=key, fingerprint=b"f", seal=lambda _, sealed=sealed: sealed))
    (at,) = conn.execute(
        "select min(committed_at) from steadhold.receipts where workspace = %s", [workspace]
    ).fetchone()
    found = operations.near(conn, workspace, "job:1", [at, at])
    assert [(one.key, one.status, one.needs) for one in found] == [("mine", 201, [("", "")])]
    assert operations.near(conn, workspace, "job:1", [at + timedelta(seconds=60)]) == []
