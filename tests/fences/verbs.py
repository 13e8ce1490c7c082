"""Plans of the room as verbs that a connection can play."""

from __future__ import annotations

from steadhold import fences
from steadhold.fences import Wanted
from steadhold.kit.fields import FenceRef
from steadhold.kit.plan import operation

grant, look, require, own, renew = map(operation, (fences.grant, fences.look, fences.require, fences.own, fences.renew))
release, end, drop, lapsed = map(operation, (fences.release, fences.end, fences.drop, fences.lapsed))
first = operation(fences.first)
mark, under_key, required, owned = map(operation, (fences.mark, fences.under_key, fences.required, fences.owned))

LOCK = "lock:deploy"
REF = FenceRef(LOCK, 1)


def take(conn, workspace, subject=LOCK, holder="a", seconds=60, key=None):
    (answer,) = grant(conn, workspace, [Wanted(subject, holder, seconds, key)])
    return answer
