"""Events, heads and waits on real PostgreSQL, in a transaction that rolls back."""

from __future__ import annotations

import uuid

from steadhold import events
from steadhold.events import Appended, Happened, Head, Waiting
from steadhold.kit.outcome import RevisionConflict
from steadhold.kit.plan import operation

record, move, settled, hold = map(operation, (events.record, events.move, events.settled, events.hold))
wait, due, take, unwait = map(operation, (events.wait, events.due, events.take, events.unwait))
heads_of, drop_heads, forget = map(operation, (events.heads_of, events.drop_heads, events.forget))


def test_smoke(conn, workspace):
    job = str(uuid.uuid4())
    record(conn, workspace, [(f"job:{job}", 1, Happened("job.accepted", b"{}"))])
    assert len(events.history(conn, workspace, f"job:{job}", 0, 10).events) == 1
    made = events.append(conn, workspace, "order-1", None, [Happened("a"), Happened("b")], state="new")
    assert isinstance(made, Appended)
    assert made.revision == 2
    assert events.append(conn, workspace, "order-1", None, [Happened("a")]) == RevisionConflict(2)
    assert events.append(conn, workspace, "order-1", 2, [Happened("c")]).revision == 3
    wait(conn, workspace, [Waiting(job, "s", "effect:e", None, b"w")])
    assert due(conn, workspace, 10) == []
    move(conn, workspace, [Head("effect:e", 1, "open", True, f"job:{job}")])
    assert due(conn, workspace, 10) == [job]
    (over,) = take(conn, workspace, [job])
    assert over.happened
    assert hold(conn, workspace, "effect:e").open
    assert len(heads_of(conn, workspace, f"job:{job}")) == 1
    drop_heads(conn, workspace, ["effect:e"])
    unwait(conn, workspace, [job])
    assert forget(conn, workspace, [f"job:{job}"]) == 0
    assert events.purge(conn, workspace, 10) == 0
