"""private: the verbs. A room says what it can read under a prefix; the rest is the same for all of them.

Who makes a prefix private, and who lifts one, stands in the audit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from steadhold.access import Actor, audit
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, maybe, operation, rows, single_operation
from steadhold.kit.rules import Path
from steadhold.kit.sealed import Kind
from steadhold.kit.sql import load
from steadhold.private.model import LiftOutcome, MakeOutcome, PlaintextPresent, Prefix

SQL = load(__file__)

Readable: TypeAlias = Callable[[str, str], Plan[list[str]]]
"""Of a workspace and a prefix: the first names under it whose bytes can be read."""


@single_operation
def make(workspace: str, kind: Kind, prefix: Path, readable: Readable, *, by: Actor) -> Plan[MakeOutcome]:
    """Store nothing but envelopes under a prefix from the commit on. Again it changes nothing.

    It waits for everyone who is writing names of this kind, so it may find the workspace busy.
    Outcomes: `Prefix(made)`, `PlaintextPresent(names)`.
    """
    yield from rows(SQL.close, workspace=workspace, kind=kind)
    if names := (yield from readable(workspace, prefix)):
        return PlaintextPresent(tuple(names))
    made = yield from maybe(SQL.make, Prefix, workspace=workspace, kind=kind, prefix=prefix)
    if made is not None:
        yield from audit(workspace, by, "prefix.made", _resource(kind, prefix))
        return Prefix(made.prefix, made.revision, made.made_at, made=True)
    there = yield from get.plan(workspace, kind, prefix)
    return there if isinstance(there, Prefix) else RevisionConflict(None)


@operation
def lift(workspace: str, kind: Kind, prefix: Path, revision: int, *, by: Actor) -> Plan[LiftOutcome]:
    """Let anything be stored under a prefix again. What is sealed there stays sealed.

    Outcomes: `Prefix`, `Missing`, `RevisionConflict(current)`.
    """
    there = yield from get.plan(workspace, kind, prefix)
    if isinstance(there, Missing):
        return there
    gone = yield from rows(SQL.lift, workspace=workspace, kind=kind, prefix=prefix, revision=revision)
    if not gone:
        return RevisionConflict(there.revision)
    yield from audit(workspace, by, "prefix.lifted", _resource(kind, prefix))
    return there


def _resource(kind: Kind, prefix: str) -> str:
    return f"prefix:{kind}/{prefix}"


@operation
def get(workspace: str, kind: Kind, prefix: Path) -> Plan[Prefix | Missing]:
    """Read one private prefix."""
    return (yield from maybe(SQL.look, Prefix, workspace=workspace, kind=kind, prefix=prefix)) or Missing()


@operation
def prefixes(workspace: str, kind: Kind, after: str, limit: int) -> Plan[list[Prefix]]:
    """List the private prefixes of a kind in byte order, from behind `after`."""
    found = yield from rows(SQL.page, workspace=workspace, kind=kind, after=after, limit=limit)
    return [Prefix(*row) for row in found]
