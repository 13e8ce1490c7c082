"""Plans of the room as verbs that a connection can play."""

from __future__ import annotations

from steadhold import events, fences
from steadhold.kit.plan import operation

record, move, settled, hold = map(operation, (events.record, events.move, events.settled, events.hold))
wait, due, take, unwait = map(operation, (events.wait, events.due, events.take, events.unwait))
heads_of, drop_heads, forget = map(operation, (events.heads_of, events.drop_heads, events.forget))
grant = operation(fences.grant)
