"""Grants on real PostgreSQL, in a transaction that rolls back."""

from __future__ import annotations

import pytest

from steadhold.fences import Granted, Held, KeySpent, Marked, Outrun, Released, Renewal, Renewed, Wanted
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import StaleFence
from steadhold.play.transaction import opening
from tests.fences.verbs import (
    LOCK,
    REF,
    drop,
    end,
    first,
    grant,
    lapsed,
    look,
    mark,
    own,
    owned,
    release,
    renew,
    require,
    required,
    take,
    under_key,
)


def check_at(conn, subject=LOCK):
    return conn.execute("select check_at from steadhold.grants where subject = %s", [subject]).fetchone()[0]


def hot_updates(conn):
    asked = "select pg_stat_get_xact_tuples_hot_updated('steadhold.grants'::regclass)"
    return conn.execute(asked).fetchone()[0]


def test_a_free_subject_is_granted_and_a_held_one_names_its_holder(conn, workspace):
    first = take(conn, workspace)
    held = take(conn, workspace, holder="b")
    assert (first.fence, first.again) == (1, False)
    assert isinstance(held, Held)
    assert (held.holder, held.fence, held.until) == ("a", 1, first.until)
    assert 59 < held.expires_in_seconds <= 60


def test_a_first_grant_is_as_any_other(conn, workspace, clock):
    wanted = [Wanted("job:b", "a", 60), Wanted("job:a", "a", 30)]
    granted = first(conn, workspace, wanted)
    assert [(grant.subject, grant.fence, grant.length_seconds) for grant in granted] == [
        ("job:b", 1, 60),
        ("job:a", 1, 30),
    ]
    assert granted == grant_again(conn, workspace, wanted)
    clock.move(31)
    assert [stale is None for stale in required(conn, workspace, [FenceRef("job:b", 1), FenceRef("job:a", 1)])] == [
        True,
        False,
    ]
    assert take(conn, workspace, "job:a", holder="b").fence == 2


def grant_again(conn, workspace, wanted):
    """What the rows say of them."""
    rows = [look(conn, workspace, each.subject) for each in wanted]
    return [Granted(row.subject, row.fence, row.until, row.length_seconds) for row in rows]


@pytest.mark.parametrize("how", ["released", "expired", "ended"])
def test_a_fence_rises_with_each_grant_however_the_last_one_ended(conn, workspace, clock, how):
    take(conn, workspace)
    if how == "released":
        release(conn, workspace, [REF])
    elif how == "ended":
        end(conn, workspace, [REF])
    else:
        clock.move(61)
    assert take(conn, workspace, holder="b").fence == 2


def test_an_ended_grant_counts_from_its_own_grant_not_from_the_transaction(conn, workspace, clock):
    take(conn, workspace)
    clock.move(61)
    taken = take(conn, workspace, holder="b", seconds=10)
    assert 9 < (taken.until - look(conn, workspace, LOCK).server_time).total_seconds() <= 10


def test_the_same_key_is_the_same_grant_while_it_is_held_and_never_another(conn, workspace, clock):
    first = take(conn, workspace, key="k")
    again = take(conn, workspace, key="k")
    assert (again.fence, again.until, again.again) == (first.fence, first.until, True)
    assert [held.subject for held in under_key(conn, workspace, "lock", "k")] == [LOCK]
    clock.move(61)
    assert take(conn, workspace, key="k") == KeySpent(LOCK, 1)
    assert under_key(conn, workspace, "lock", "k") == []
    assert take(conn, workspace, key="other").fence == 2


def test_of_twins_in_one_statement_the_first_is_granted(conn, workspace):
    take(conn, workspace, "lock:held", holder="z")
    asked = [
        Wanted(LOCK, "a", 60),
        Wanted("lock:held", "a", 60),
        Wanted(LOCK, "b", 60),
        Wanted("lock:k", "a", 60, "k"),
        Wanted("lock:k", "a", 60, "k"),
    ]
    first, held, twin, keyed, repeated = grant(conn, workspace, asked)
    assert isinstance(first, Granted)
    assert (held.holder, twin.holder) == ("z", "a")
    assert (keyed.again, repeated.again, repeated.fence) == (False, True, keyed.fence)


def test_a_write_may_rely_on_a_current_grant_only(conn, workspace, clock):
    take(conn, workspace)
    for test in (require, own):
        assert test(conn, workspace, []) is None
        assert test(conn, workspace, [REF]) is None
        assert test(conn, workspace, [REF, FenceRef(LOCK, 2)]) == StaleFence(LOCK)
        assert test(conn, workspace, [FenceRef("lock:none", 1), REF]) == StaleFence("lock:none")
    for each in (required, owned):
        assert each(conn, workspace, [FenceRef(LOCK, 2), REF]) == [StaleFence(LOCK), None]
    clock.move(61)
    assert require(conn, workspace, [REF]) == own(conn, workspace, [REF]) == StaleFence(LOCK)


def test_a_renewal_runs_from_now_and_touches_no_index(conn, workspace, clock):
    take(conn, workspace)
    before = check_at(conn)
    clock.move(40)
    hot = hot_updates(conn)
    (renewed,) = renew(conn, workspace, [Renewal(LOCK, 1)])
    assert isinstance(renewed, Renewed)
    assert (renewed.until - renewed.server_time).total_seconds() == 60
    assert check_at(conn) == before
    assert hot_updates(conn) == hot + 1
    clock.move(40)
    assert require(conn, workspace, [REF]) is None


def test_a_shorter_renewal_is_looked_at_earlier(conn, workspace, clock):
    take(conn, workspace, seconds=3600)
    (renewed,) = renew(conn, workspace, [Renewal(LOCK, 1, 10)])
    assert check_at(conn) == renewed.until
    clock.move(11)
    assert lapsed(conn, workspace, "lock", 10) == [REF]


@pytest.mark.parametrize("how", ["released", "expired", "taken over"])
def test_a_renewal_revives_nothing(conn, workspace, clock, how):
    take(conn, workspace)
    if how == "released":
        release(conn, workspace, [REF])
    else:
        clock.move(61)
    if how == "taken over":
        take(conn, workspace, holder="b")
    assert renew(conn, workspace, [Renewal(LOCK, 1)]) == [StaleFence(LOCK)]


def test_of_two_renewals_in_one_statement_both_are_told_what_was_written(conn, workspace):
    take(conn, workspace)
    first, second = renew(conn, workspace, [Renewal(LOCK, 1, 10), Renewal(LOCK, 1, 20)])
    assert first == second
    assert look(conn, workspace, LOCK).until == first.until


def test_a_release_repeats_under_its_fence_until_the_next_grant(conn, workspace, clock):
    take(conn, workspace)
    assert release(conn, workspace, [REF, FenceRef(LOCK, 2)]) == [Released(LOCK, again=False), StaleFence(LOCK)]
    assert release(conn, workspace, [REF]) == [Released(LOCK, again=True)]
    take(conn, workspace)
    assert release(conn, workspace, [REF]) == [StaleFence(LOCK)]
    clock.move(61)
    assert release(conn, workspace, [FenceRef(LOCK, 2)]) == [StaleFence(LOCK)]


def test_what_the_clock_has_ended_is_swept_once(conn, workspace, clock):
    take(conn, workspace)
    take(conn, workspace, "lock:renewed")
    take(conn, workspace, "job:1")
    clock.move(40)
    renew(conn, workspace, [Renewal("lock:renewed", 1)])
    clock.move(40)
    assert lapsed(conn, workspace, "lock", 10) == [REF]
    assert check_at(conn, "lock:renewed") == look(conn, workspace, "lock:renewed").until
    end(conn, workspace, [REF], released=False)
    assert lapsed(conn, workspace, "lock", 10) == []
    assert release(conn, workspace, [REF]) == [StaleFence(LOCK)]
    assert lapsed(conn, workspace, "job", 10) == [FenceRef("job:1", 1)]


def test_ending_names_the_fence_that_it_ends(conn, workspace):
    take(conn, workspace)
    end(conn, workspace, [FenceRef(LOCK, 2)])
    assert look(conn, workspace, LOCK).held


def test_only_a_job_is_ever_forgotten(conn, workspace):
    take(conn, workspace)
    take(conn, workspace, "job:1")
    drop(conn, workspace, [LOCK, "job:1"])
    assert look(conn, workspace, "job:1") is None
    assert look(conn, workspace, LOCK).fence == 1


def test_a_mark_only_rises(conn, workspace):
    assert [mark(conn, workspace, "db", fence) for fence in (5, 5, 4, 6)] == [
        *(Marked(5), Marked(5), Outrun("db", 5), Marked(6)),
    ]


def test_a_workspace_is_due_when_a_grant_is_to_be_looked_at(committed, workspace, clock):
    asked = "select duty from steadhold.due_fences() where workspace = %s"
    with committed.transaction():
        take(committed, workspace, "lane:1")
    assert committed.execute(asked, [workspace]).fetchall() == []
    clock.move(61)
    assert committed.execute(asked, [workspace]).fetchall() == [("fences.lane",)]


@pytest.fixture
def reborn(database, workspace):
    """A transaction, rolled back, in which a new incarnation can begin."""
    with database.connect() as made:
        made.execute(opening(workspace, 5_000).encode())
        yield made
        made.rollback() if not made.autocommit else made.execute("rollback")


def restore(conn):
    conn.execute("reset role")
    conn.execute("select steadhold.restored()")
    conn.execute("set local role steadhold_app")


def test_a_lost_fence_is_never_issued_again(reborn, workspace):
    take(reborn, workspace)
    release(reborn, workspace, [REF])
    restore(reborn)
    incarnation = reborn.execute("select incarnation from steadhold.house").fetchone()[0]
    assert take(reborn, workspace).fence == (incarnation << 32) + 1
    assert take(reborn, workspace, "lock:new").fence == (incarnation << 32) + 1


def test_a_grant_of_an_earlier_incarnation_runs_its_length_from_the_beginning_of_this_one(reborn, workspace, clock):
    take(reborn, workspace)
    clock.move(50)
    restore(reborn)
    clock.move(50)
    assert isinstance(take(reborn, workspace, holder="b"), Held)
    assert require(reborn, workspace, [REF]) is None
    assert lapsed(reborn, workspace, "lock", 10) == []
    clock.move(11)
    assert require(reborn, workspace, [REF]) == StaleFence(LOCK)
    assert lapsed(reborn, workspace, "lock", 10) == [REF]


def test_a_grant_that_was_ended_stays_ended_in_the_next_incarnation(reborn, workspace, clock):
    take(reborn, workspace)
    clock.move(61)
    end(reborn, workspace, lapsed(reborn, workspace, "lock", 10), released=False)
    restore(reborn)
    assert not look(reborn, workspace, LOCK).held
    assert renew(reborn, workspace, [Renewal(LOCK, 1)]) == [StaleFence(LOCK)]
