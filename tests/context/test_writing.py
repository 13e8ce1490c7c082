"""What a flush of several writes settles, statement by statement, on one connection."""

from __future__ import annotations

from steadhold import blobs, context
from steadhold.context.writing import New, hold, write
from steadhold.kit.plan import operation
from tests.context.desk import put


@operation
def together(workspace, bodies, expected):
    """Two writes of one path, statement by statement in one transaction, as a flush plays them."""
    plans = [write(workspace, "n", expected, New(len(body), blobs.digest_of(body), "")) for body in bodies]
    steps = [next(plan) for plan in plans]
    ended = []
    while plans:
        lowest = min(steps, key=lambda step: step.sql.order).sql
        at = [n for n, step in enumerate(steps) if step.sql is lowest]
        joined = type(steps[0])(lowest, [item for n in at for item in steps[n].items])
        hands = yield joined
        going = []
        for n, plan in enumerate(plans):
            if n not in at:
                going.append((plan, steps[n]))
                continue
            mine, hands = hands[: len(steps[n].items)], hands[len(steps[n].items) :]
            try:
                going.append((plan, plan.send(mine)))
            except StopIteration as end:
                ended.append(end.value)
        plans, steps = [plan for plan, _ in going], [step for _, step in going]
    return ended


def test_two_who_write_one_path_at_once_have_one_winner(conn, workspace):
    put(conn, workspace, "n")
    for expected in (1, 2):
        came = together(conn, workspace, [b"one", b"two"], expected)
        (lost,) = [outcome for outcome in came if isinstance(outcome, context.RevisionConflict)]
        (won,) = [outcome for outcome in came if outcome is not lost]
        assert (won.written.revision, lost) == (expected + 1, context.RevisionConflict(expected + 1))
    assert conn.execute("select count(*) from steadhold.context_revisions").fetchone() == (3,)


def test_two_who_create_one_path_at_once_have_one_winner(conn, workspace):
    came = together(conn, workspace, [b"one", b"two"], None)
    assert context.RevisionConflict(1) in came
    assert [outcome.written.revision for outcome in came if outcome != context.RevisionConflict(1)] == [1]


@operation
def held(workspace, paths, make):
    return (yield from hold(workspace, paths, frozenset(make)))


def test_a_path_that_is_held_and_let_go_leaves_nothing(conn, workspace):
    assert context.require(conn, workspace, "n", None) is None
    assert conn.execute("select count(*) from steadhold.context_files").fetchone() == (0,)
    assert held(conn, workspace, {"n": False}, [])["n"].row is None
    assert held(conn, workspace, {"n": True}, ["n"])["n"].made
