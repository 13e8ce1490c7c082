"""Grants on real PostgreSQL, in a transaction that rolls back."""

from __future__ import annotations

from steadhold import fences
from steadhold.fences import Granted, Held, KeySpent, Marked, Outrun, Released, Renewal, Renewed, Wanted
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import operation

grant, look, require, own, renew = map(operation, (fences.grant, fences.look, fences.require, fences.own, fences.renew))
release, end, drop, lapsed = map(operation, (fences.release, fences.end, fences.drop, fences.lapsed))
mark, under_key, required = map(operation, (fences.mark, fences.under_key, fences.required))

LOCK = "lock:deploy"


def take(conn, workspace, subject=LOCK, holder="a", seconds=60, key=None):
    (answer,) = grant(conn, workspace, [Wanted(subject, holder, seconds, key)])
    return answer


def test_smoke(conn, workspace):
    first = take(conn, workspace)
    assert isinstance(first, Granted)
    assert first.fence == 1
    held = take(conn, workspace, holder="b")
    assert isinstance(held, Held)
    assert held.holder == "a"
    assert 59 < held.expires_in_seconds <= 60
    ref = FenceRef(LOCK, 1)
    assert require(conn, workspace, [ref]) is None
    assert own(conn, workspace, [ref]) is None
    assert require(conn, workspace, [ref, FenceRef(LOCK, 2)]) == StaleFence(LOCK)
    (renewed,) = renew(conn, workspace, [Renewal(LOCK, 1, 5)])
    assert isinstance(renewed, Renewed)
    assert release(conn, workspace, [ref]) == [Released(LOCK, again=False)]
    assert release(conn, workspace, [ref]) == [Released(LOCK, again=True)]
    assert renew(conn, workspace, [Renewal(LOCK, 1, 5)]) == [StaleFence(LOCK)]
    assert isinstance(take(conn, workspace, key="k"), Granted)
    assert take(conn, workspace, key="k").again
    assert [g.subject for g in under_key(conn, workspace, "lock", "k")] == [LOCK]
    end(conn, workspace, [FenceRef(LOCK, 2)])
    assert take(conn, workspace, key="k") == KeySpent(LOCK, 2)
    assert lapsed(conn, workspace, "lock", 10) == []
    assert mark(conn, workspace, "r", 5) == Marked(5)
    assert mark(conn, workspace, "r", 4) == Outrun("r", 5)
    drop(conn, workspace, [LOCK])
    assert look(conn, workspace, LOCK).fence == 2
