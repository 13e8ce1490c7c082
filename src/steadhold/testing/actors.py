"""An actor plays plans in its own connection, and stops before each statement until it is told to move."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import psycopg
from psycopg.rows import tuple_row

from steadhold.kit.plan import Call, Plan
from steadhold.kit.sql import Item, Sql
from steadhold.play.trampoline import run
from steadhold.play.transaction import opening

Turn: TypeAlias = "Plan[Any] | Call[Any] | Callable[[Any], Plan[Any] | Call[Any]]"
"""One transaction: a plan, a call, or a function of the outcome of the turn before."""


def _plan(turn: Turn, before: object) -> Plan[Any]:
    made = turn(before) if callable(turn) else turn
    return made.begin() if isinstance(made, Call) else made


class _Abandoned(BaseException):
    """The schedule is over for an actor that had not finished."""


class Actor:
    """Plays its turns, each in a transaction of its own; a statement, or a COMMIT, is one step.

    `step` names what it does now or would do next. It is at rest when it waits to be moved or has ended.
    """

    def __init__(self, name: str, conn: psycopg.Connection[Any]) -> None:
        self.name, self.conn = name, conn
        self.pid = conn.info.backend_pid
        self.step, self.answer = "", ""
        self.ended = False
        self.outcome: Any = None
        self._rest, self._go = threading.Event(), threading.Semaphore(0)
        self._abandoned = False
        self._thread: threading.Thread | None = None

    @property
    def at_rest(self) -> bool:
        """Tell whether it waits to be moved, or has ended."""
        return self._rest.is_set()

    @property
    def movable(self) -> bool:
        """Tell whether a move would make it do something."""
        return self.at_rest and not self.ended

    def begin(self, workspace: str, turns: Sequence[Turn]) -> None:
        """Open the first transaction and stop before its first statement."""
        self._thread = threading.Thread(target=self._play, args=(workspace, turns), name=self.name, daemon=True)
        self._thread.start()
        self._rest.wait()

    def move(self) -> None:
        """Let it take one step. It is at rest again when the step is done, unless a lock holds it up."""
        self._rest.clear()
        self._go.release()

    def rest(self, seconds: float) -> bool:
        """Wait for it to be at rest; False if it still runs when time is up."""
        return self._rest.wait(seconds)

    def abandon(self) -> None:
        """End it where it stands and roll back."""
        self._abandoned = True
        if not self.at_rest:
            self.conn.cancel_safe()
        self._go.release()

    def join(self, seconds: float) -> None:
        """Wait for its thread."""
        if self._thread:
            self._thread.join(seconds)

    def _play(self, workspace: str, turns: Sequence[Turn]) -> None:
        try:
            for turn in turns:
                self.outcome = self._turn(workspace, turn)
        except _Abandoned:
            self.conn.rollback()
        except Exception as error:  # noqa: BLE001  # whatever a plan raises is its outcome, for the explorer to judge
            self.outcome = error
            self.conn.rollback()
        finally:
            self.ended = True
            self._rest.set()

    def _turn(self, workspace: str, turn: Turn) -> Any:
        plan = _plan(turn, self.outcome)
        self.conn.execute(opening(workspace, lock_timeout_ms=0).encode())
        with psycopg.RawCursor(self.conn, row_factory=tuple_row) as cursor:
            outcome = run(plan, lambda sql, items: self._ask(cursor, sql, items))
            self._stop_before("COMMIT")
            cursor.execute(b"commit")
            self.answer = "done"
        return outcome

    def _ask(self, cursor: psycopg.RawCursor[Any], sql: Sql, items: Sequence[Item]) -> Sequence[Sequence[Any]]:
        self._stop_before(sql.name)
        cursor.execute(sql.numbered.encode(), sql.bind(items))
        got = cursor.fetchall() if cursor.description else []
        self.answer = f"{len(got)} row{'' if len(got) == 1 else 's'}"
        return got

    def _stop_before(self, step: str) -> None:
        self._rest.set()
        self._go.acquire()
        if self._abandoned:
            raise _Abandoned
        self.step = step
