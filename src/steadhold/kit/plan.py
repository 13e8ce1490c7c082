"""A plan is a script of SQL steps that knows no connection; whoever holds one plays it.

A public verb is an `Operation` around a plan: `put(conn, …)` plays it on the caller's connection and
commits nothing, `put.plan(…)` composes it into another plan, `put.call(…)` hands it to a player.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

from steadhold.kit import rules
from steadhold.kit.sql import Item, Row, Sql

if TYPE_CHECKING:
    from steadhold.kit.connections import AsyncConnection, SyncConnection

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class Step:
    """What a plan yields: one statement for some items. It receives a list of rows for each item."""

    sql: Sql
    items: Sequence[Item]


Hands: TypeAlias = list[list[Row]]
Plan: TypeAlias = Generator[Step, Hands, T]


def rows(sql: Sql, /, **item: Any) -> Plan[list[Row]]:
    """Ask one statement for one item and receive its rows."""
    return (yield Step(sql, (item,)))[0]


def maybe(sql: Sql, into: Callable[..., T], /, **item: Any) -> Plan[T | None]:
    """Ask for at most one row, made into something."""
    got = (yield Step(sql, (item,)))[0]
    return into(*got[0]) if got else None


def one(sql: Sql, into: Callable[..., T], /, **item: Any) -> Plan[T]:
    """Ask for exactly one row, made into something."""
    got = (yield Step(sql, (item,)))[0]
    if len(got) != 1:
        raise AssertionError(f"{sql.name} answered {len(got)} rows where it promises one")
    return into(*got[0])


def each(sql: Sql, items: Sequence[Item]) -> Plan[Hands]:
    """Ask one vector statement for many items at once; no items ask nothing."""
    return (yield Step(sql, items)) if items else []


class Refusal:
    """An outcome that changed nothing. Everything else that a plan returns is an effect or a reading.

    `again` marks the one that a player does not answer: a twin in the same transaction went first, so
    the call is to be begun again once that has ended.
    """

    __slots__ = ()
    again: ClassVar[bool] = False


_SAVE = Sql("plan.save", "savepoint steadhold", "read")
_UNDO = Sql("plan.undo", "rollback to savepoint steadhold", "read")
_KEEP = Sql("plan.keep", "release savepoint steadhold", "read")


def undoable(plan: Plan[T]) -> Plan[T]:
    """Play a plan under a savepoint, so that its refusal takes back what it wrote.

    A savepoint spans the whole connection: an operation that uses this is a `single_operation`.
    """
    yield from rows(_SAVE)
    outcome = yield from plan
    if isinstance(outcome, Refusal):
        yield from rows(_UNDO)
    yield from rows(_KEEP)
    return outcome


@dataclass(slots=True, eq=False)
class Call(Generic[T]):
    """A plan not yet begun, for one workspace. It can be begun again, which is what lets a player fall back.

    `single` says that it may not share its transaction: its lock order falls, or it needs a savepoint.
    `subject` names what it is about: while a stranger keeps one call waiting for it, others about it wait too.
    `whole` is the one statement by which it changes anything. It may be a transaction by itself then, and where the
    plan asks more after it, it did nothing.
    """

    begin: Callable[[], Plan[T]]
    workspace: str
    name: str
    single: bool = False
    subject: str = ""
    whole: Sql | None = None

    def around(self, begin: Callable[[], Plan[Any]]) -> Call[Any]:
        """This call with more around its plan, which is no longer all that is changed."""
        return Call(begin, self.workspace, self.name, self.single, self.subject)


def call_fault(call: Call[Any]) -> str | None:
    """Why a call cannot be, by the rules beside what its verb takes: for whoever is given calls by a library's user."""
    begin = call.begin
    if not isinstance(begin, functools.partial):
        return None
    try:
        rules.test(begin.func, call.name, begin.args, begin.keywords)
    except rules.Misuse as why:
        return str(why)
    return None


class Operation(Generic[P, T]):
    """A public verb. Its first parameter is the workspace, a string."""

    def __init__(self, plan: Callable[Concatenate[str, P], Plan[T]], *, single: bool, whole: Sql | None = None) -> None:
        functools.update_wrapper(self, plan)
        self.plan, self.single, self.whole = plan, single, whole
        self.about = f"{plan.__module__}:"
        self.name = f"{plan.__module__.rpartition('.')[0].rpartition('.')[2]}.{plan.__name__}"

    def call(self, workspace: str, /, *args: P.args, **kw: P.kwargs) -> Call[T]:
        """Bind the arguments for a player, or for another verb."""
        subject = self.about + args[0] if args and isinstance(args[0], str) else ""
        begin = functools.partial(self.plan, workspace, *args, **kw)
        return Call(begin, workspace, self.name, self.single, subject, self.whole)

    @overload
    def __call__(self, conn: SyncConnection, workspace: str, /, *args: P.args, **kw: P.kwargs) -> T: ...
    @overload
    def __call__(self, conn: AsyncConnection, workspace: str, /, *args: P.args, **kw: P.kwargs) -> Awaitable[T]: ...
    def __call__(self, conn: Any, workspace: str, /, *args: P.args, **kw: P.kwargs) -> T | Awaitable[T]:
        """Play inside the transaction of `conn`, which stays the caller's to commit or roll back.

        Raises:
            Misuse: an argument breaks the rule beside its parameter; the transaction is as it was.
        """
        rules.test(self.plan, self.name, (workspace, *args), kw)
        return _player()(conn, self.call(workspace, *args, **kw))


def operation(plan: Callable[Concatenate[str, P], Plan[T]]) -> Operation[P, T]:
    """Make a plan a public verb."""
    return Operation(plan, single=False)


def single_operation(plan: Callable[Concatenate[str, P], Plan[T]]) -> Operation[P, T]:
    """Make a plan a public verb that may share no transaction: its lock order falls, or it needs a savepoint."""
    return Operation(plan, single=True)


def whole_operation(
    by: Sql, *, single: bool = False
) -> Callable[[Callable[Concatenate[str, P], Plan[T]]], Operation[P, T]]:
    """Make a plan a public verb that changes all that it changes by one execution of one statement.

    Whatever that plan asks before changes nothing. If it asks more after that, the statement did nothing.
    """
    if not by.by or by.shared:
        raise TypeError(f"{by.name} may need several executions for one step: that is not whole")
    return functools.partial(Operation, single=single, whole=by)


_play: list[Callable[[Any, Call[Any]], Any]] = []


def played_by(play: Callable[[Any, Call[Any]], Any]) -> None:
    """Name what plays a call on a caller's connection; `steadhold.play` does so when it is imported."""
    _play[:] = [play]


def _player() -> Callable[[Any, Call[Any]], Any]:
    if not _play:  # by name: the grammar stands below the players and may not import them
        importlib.import_module("steadhold.play.caller")
    return _play[0]
