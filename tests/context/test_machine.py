"""context against a plain dict: whatever order of verbs, the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import psycopg
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from steadhold import blobs, context
from steadhold.context.model import Missing, Moved, PathTaken, Pruned, RevisionConflict, Stored, Written
from tests import chance

PATHS = st.sampled_from(["a", "a/b", "b"])
BODIES = st.sampled_from([b"", b"1", b"22", b"\xff"])
GUESSES = st.integers(min_value=-1, max_value=1)


class Files(RuleBasedStateMachine):
    """Revisions and bytes of three paths, every one that was ever written, and what each verb must answer."""

    conn: ClassVar[psycopg.Connection]
    new_workspace: ClassVar[Callable[[], str]]

    @initialize()
    def begin(self):
        self.workspace = self.new_workspace()
        self.conn.execute("select set_config('steadhold.workspace', %s, false)", (self.workspace,))
        self.bytes: dict[str, bytes | None] = {}
        self.revisions: dict[str, int] = {}
        self.ever: dict[tuple[str, int], bytes | None] = {}

    def answer(self, path, expected):
        """What a write of `expected` must come to: None where it wins."""
        at, present = self.revisions.get(path), self.bytes.get(path) is not None
        if expected is None:
            return RevisionConflict(at) if present else None
        if not present:
            return Missing(at)
        return None if expected == at else RevisionConflict(at)

    def change(self, path, body, revision):
        self.revisions[path], self.bytes[path] = revision, body
        self.ever[path, revision] = body

    def compare(self, path, body, expected, came):
        refusal = self.answer(path, expected)
        if refusal is not None:
            assert came == refusal
        else:
            assert isinstance(came, Written)
            assert came.revision == self.revisions.get(path, 0) + 1
            self.change(path, body, came.revision)

    def guess(self, path, off):
        return max(1, self.revisions.get(path, 0) + off)

    @rule(path=PATHS, body=BODIES, off=GUESSES)
    def put(self, path, body, off):
        expected = self.guess(path, off)
        self.compare(path, body, expected, context.put(self.conn, self.workspace, path, body, expected))

    @rule(path=PATHS, body=BODIES)
    def create(self, path, body):
        self.compare(path, body, None, context.put(self.conn, self.workspace, path, body, None))

    @rule(path=PATHS, off=GUESSES)
    def delete(self, path, off):
        expected = self.guess(path, off)
        self.compare(path, None, expected, context.delete(self.conn, self.workspace, path, expected))

    @rule(source=PATHS, into=PATHS, off=GUESSES)
    def move(self, source, into, off):
        expected = self.guess(source, off)
        came = context.move(self.conn, self.workspace, source, into, expected)
        refusal = self.answer(source, expected)
        if refusal is None and self.bytes.get(into) is not None:
            refusal = PathTaken(self.revisions[into])
        if refusal is not None:
            assert came == refusal
            return
        assert isinstance(came, Moved)
        body = self.bytes[source]
        assert came.revision == max(self.revisions[source], self.revisions.get(into, 0)) + 1
        self.change(source, None, self.revisions[source] + 1)
        self.change(into, body, came.revision)

    @rule(path=PATHS)
    def read(self, path):
        found = context.get(self.conn, self.workspace, path)
        if self.bytes.get(path) is None:
            assert found == Missing(self.revisions.get(path))
        else:
            assert isinstance(found, Stored)
            assert (found.content.body, found.revision) == (self.bytes[path], self.revisions[path])

    @rule(data=st.data())
    def read_what_was(self, data):
        if self.ever:
            blobs.prune(self.conn, self.workspace, 100)
            path, revision = data.draw(st.sampled_from(sorted(self.ever)))
            found = context.get_revision(self.conn, self.workspace, path, revision)
            if isinstance(found, Stored):
                assert found.content.body == self.ever[path, revision]
            else:
                assert isinstance(found, Pruned) or self.ever[path, revision] is None

    @rule()
    def usage(self):
        there = [body for body in self.bytes.values() if body is not None]
        usage = context.usage(self.conn, self.workspace)
        assert (usage.files, usage.bytes, usage.reserved) == (len(there), sum(map(len, there)), 0)


def test_files_behave_like_a_dict(conn, database):
    """The plans answer what plain dicts of revisions and bytes would, and bytes of a revision never change."""
    bound = {"conn": conn, "new_workspace": staticmethod(database.new_workspace)}
    run_state_machine_as_test(type("Bound", (Files,), bound), settings=settings(max_examples=chance.of(100)))
