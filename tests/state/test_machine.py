"""state against a plain dict: whatever order of verbs, the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import psycopg
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from steadhold import state
from steadhold.state.model import Get, Missing, Put, RevisionConflict, Stored, Written
from tests import chance

NAMES = st.sampled_from(["a", "a/b", "b"])
BODIES = st.sampled_from([b"1", b"1.10", b'{"z":1,"a":-0}', b'"\xc3\xbc"'])
GUESSES = st.integers(min_value=-1, max_value=1)


class Names(RuleBasedStateMachine):
    """Revisions and bytes of three names, and what each verb must answer."""

    conn: ClassVar[psycopg.Connection]
    new_workspace: ClassVar[Callable[[], str]]

    @initialize()
    def begin(self):
        self.workspace = self.new_workspace()
        self.conn.execute("select set_config('steadhold.workspace', %s, false)", (self.workspace,))
        self.bytes: dict[str, bytes | None] = {}
        self.revisions: dict[str, int] = {}

    def answer(self, name, expected):
        """What a write of `expected` must come to: None where it wins."""
        at, present = self.revisions.get(name), self.bytes.get(name) is not None
        if expected is None:
            return RevisionConflict(at) if present else None
        if not present:
            return Missing(at)
        return None if expected == at else RevisionConflict(at)

    def move(self, name, body):
        self.revisions[name] = self.revisions.get(name, 0) + 1
        self.bytes[name] = body
        return self.revisions[name]

    @rule(name=NAMES, body=BODIES, off=GUESSES)
    def put(self, name, body, off):
        expected = max(1, self.revisions.get(name, 0) + off)
        self.compare(name, body, expected, state.put(self.conn, self.workspace, name, body, expected))

    @rule(name=NAMES, body=BODIES)
    def create(self, name, body):
        self.compare(name, body, None, state.put(self.conn, self.workspace, name, body, None))

    @rule(name=NAMES, off=GUESSES)
    def delete(self, name, off):
        expected = max(1, self.revisions.get(name, 0) + off)
        self.compare(name, None, expected, state.delete(self.conn, self.workspace, name, expected))

    def compare(self, name, body, expected, came):
        refusal = self.answer(name, expected)
        if refusal is not None:
            assert came == refusal
        else:
            assert isinstance(came, Written)
            assert came.revision == self.move(name, body)

    @rule(name=NAMES)
    def get(self, name):
        self.read(name, state.get(self.conn, self.workspace, name))

    @rule(puts=st.lists(st.tuples(NAMES, BODIES), max_size=4, unique_by=lambda put: put[0]))
    def batch(self, puts):
        items = [Put(name, body, self.revisions.get(name) or 1) for name, body in puts]
        came = state.batch(self.conn, self.workspace, [*items, Get("a")])
        outcomes = came if isinstance(came, list) else came.outcomes
        for item, outcome in zip(items, outcomes, strict=False):
            self.compare(item.name, item.body, item.expected, outcome)
        self.read("a", outcomes[-1])

    def read(self, name, found):
        if self.bytes.get(name) is None:
            assert found == Missing(self.revisions.get(name))
        else:
            assert isinstance(found, Stored)
            assert (found.body, found.revision) == (self.bytes[name], self.revisions[name])

    @rule()
    def names(self):
        listed = [(entry.name, entry.revision) for entry in state.names(self.conn, self.workspace, "", "", 9)]
        assert listed == sorted((n, self.revisions[n]) for n, body in self.bytes.items() if body is not None)


def test_names_behave_like_a_dict(conn, database):
    """The plans answer what a plain dict of revisions and bytes would."""
    bound = {"conn": conn, "new_workspace": staticmethod(database.new_workspace)}
    run_state_machine_as_test(type("Bound", (Names,), bound), settings=settings(max_examples=chance.of(100)))
