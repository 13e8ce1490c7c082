"""One plan, and another that comes whole between two of its statements: at every boundary that there is.

The explorer tries every interleaving, which of two long plans are millions. A rival that is played whole, or waits
until the first has committed, is what a rival's own locks allow here.
"""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg.rows import tuple_row

from steadhold.play.caller import play
from steadhold.play.trampoline import run
from steadhold.testing.scene import Stage

WAITS = "set lock_timeout = '250ms'"


class Scene(Stage):
    """What is checked, with what came of both."""

    outcomes = None
    waited = False


def at_each_boundary(database, clock, *, setup, first, second, check, seconds=0.0):
    """Play `first` with `second` at each of its boundaries, the clock moved before. Answers how often it waited."""
    waited, boundary = [], 0
    while True:
        clock.reset()
        workspace = database.new_workspace()
        with database.enter(workspace) as one, database.enter(workspace) as two:
            two.execute(WAITS)
            scene = Scene(workspace, one)
            facts = setup(scene)
            rival = Rival(two, lambda scene=scene, facts=facts: second(scene, facts), clock, seconds)
            came, reached = _stepped(one, first(scene, facts), rival, boundary)
            if not reached:
                return waited
            scene.outcomes = (came, rival.outcome())
            waited.append(rival.waits)
            check(scene, facts)
        boundary += 1


class Rival:
    """Who comes between."""

    def __init__(self, conn, call, clock, seconds):
        self.conn, self.call, self.clock, self.seconds = conn, call, clock, seconds
        self.waits, self.came = False, None

    def come(self):
        self.clock.move(self.seconds)
        try:
            self.came = self._played()
        except errors.LockNotAvailable:
            self.waits = True

    def outcome(self):
        return self._played() if self.waits else self.came

    def _played(self):
        with self.conn.transaction():
            return play(self.conn, self.call())


def _stepped(conn, call, rival, boundary):
    passed = []

    def ask(sql, items):
        if len(passed) == boundary:
            rival.come()
        passed.append(sql.name)
        with psycopg.RawCursor(conn, row_factory=tuple_row) as cursor:
            cursor.execute(sql.numbered.encode(), sql.bind(items))
            return cursor.fetchall() if cursor.description else []

    with conn.transaction():
        outcome = run(call.begin(), ask)
        if len(passed) == boundary:
            rival.come()
    return outcome, len(passed) >= boundary
