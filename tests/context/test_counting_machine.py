"""context and its bytes against a counter: whatever order of verbs, no bytes are missing and none are left behind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import ClassVar

import psycopg
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from steadhold import access, blobs, context
from steadhold.context import plans, uploads
from steadhold.context.model import Content, Reference, Upload, Written
from steadhold.kit.ids import new_id
from tests import chance
from tests.context.desk import OPERATOR

PATHS = st.sampled_from(["a", "a/b", "b"])
BODIES = st.sampled_from([b"", b"1", b"22", b"333"])
OWNERS = st.sampled_from(["order:1", "order:1 x", "order:2"])

PINS = "select owner, digest from steadhold.pins where workspace = %s"
BYTES = "select distinct digest from steadhold.blobs where workspace = %s and chunk >= 0"
PIECES = "select count(*) from steadhold.blobs where workspace = %s and chunk < 0"
REVISIONS = "select path, revision, digest from steadhold.context_revisions where workspace = %s and digest <> ''"
METERS = "select what, sum(amount)::bigint from steadhold.meters where workspace = %s group by what"


def sha(body):
    return hashlib.sha256(body).digest()


class Counting(RuleBasedStateMachine):
    """Who needs which bytes, counted here; uploads that are under way; what owners rely on."""

    conn: ClassVar[psycopg.Connection]
    new_workspace: ClassVar[Callable[[], str]]

    @initialize()
    def begin(self):
        self.workspace = self.new_workspace()
        self.conn.execute("select set_config('steadhold.workspace', %s, false)", (self.workspace,))
        limits = access.Entitlements(bytes_max=6, names_max=2)
        access.put_entitlements(self.conn, self.workspace, limits, None, by=OPERATOR)
        self.under_way: dict[str, tuple[str, int | None, bytes]] = {}
        self.relied: set[tuple[str, str]] = set()
        self.written: dict[str, bytes] = {}

    def at(self, path):
        found = context.get(self.conn, self.workspace, path)
        return found.revision if isinstance(found, context.Stored) else None

    def note(self, path, body, came):
        if isinstance(came, Written):
            self.written[str(Reference(path, came.revision, sha(body)))] = body

    @rule(path=PATHS, body=BODIES)
    def put(self, path, body):
        self.note(path, body, context.put(self.conn, self.workspace, path, body, self.at(path)))

    @rule(path=PATHS)
    def delete(self, path):
        context.delete(self.conn, self.workspace, path, self.at(path) or 1)

    @rule(source=PATHS, into=PATHS)
    def move(self, source, into):
        context.move(self.conn, self.workspace, source, into, None)

    @rule(path=PATHS, data=st.data())
    def copy(self, path, data):
        if self.written:
            named = data.draw(st.sampled_from(sorted(self.written)))
            came = context.put_reference(self.conn, self.workspace, path, named, self.at(path))
            self.note(path, self.written[named], came)

    @rule(path=PATHS, body=BODIES.filter(bool))
    def begin_upload(self, path, body):
        upload, expected = new_id(), self.at(path)
        room = uploads.begin_upload(self.conn, self.workspace, path, expected, len(body), upload)
        if not isinstance(room, access.StorageExhausted):
            uploads.keep(self.conn, self.workspace, upload, 0, body)
            self.under_way[upload] = (path, expected, body)

    @rule(data=st.data(), how=st.sampled_from(["write", "release", "sweep"]))
    def end_upload(self, data, how):
        if not self.under_way:
            return
        upload = data.draw(st.sampled_from(sorted(self.under_way)))
        path, expected, body = self.under_way.pop(upload)
        if how == "write":
            whole = Upload(upload, len(body), sha(body))
            self.note(path, body, plans.put_upload(self.conn, self.workspace, path, whole, expected))
        elif how == "sweep":
            self.conn.execute("update steadhold.context_uploads set until = '-infinity' where upload = %s", [upload])
            uploads.sweep(self.conn, self.workspace, 10)
        uploads.release(self.conn, self.workspace, upload)

    @rule(owner=OWNERS, data=st.data())
    def rely(self, owner, data):
        if self.written:
            named = data.draw(st.sampled_from(sorted(self.written)))
            if context.pin(self.conn, self.workspace, owner, [named]) is None:
                self.relied.add((owner, named))

    @rule(owner=OWNERS, data=st.data())
    def let_go(self, owner, data):
        mine = sorted(named for who, named in self.relied if who == owner)
        one = data.draw(st.sampled_from([None, *mine]))
        gone = mine if one is None else [one]
        assert context.unpin(self.conn, self.workspace, owner, one) == len(gone)
        self.relied -= {(owner, named) for named in gone}

    @rule()
    def purge(self):
        plans.bury(self.conn, self.workspace, -5.0, 10)

    @rule()
    def prune(self):
        blobs.prune(self.conn, self.workspace, 100)
        there = {digest for (digest,) in self.conn.execute(BYTES, [self.workspace])}
        assert there == {digest for _, digest in self.conn.execute(PINS, [self.workspace])}

    @invariant()
    def what_is_pinned_is_what_is_needed(self):
        if not hasattr(self, "workspace"):
            return
        needed = {
            (f"context:{path}@{revision}", digest)
            for path, revision, digest in self.conn.execute(REVISIONS, [self.workspace])
        } | {
            (f"reference:{named} {owner}", sha(self.written[named])) for owner, named in self.relied
        }  # fmt: skip
        assert {(owner, digest) for owner, digest in self.conn.execute(PINS, [self.workspace])} == needed

    @invariant()
    def who_relies_finds(self):
        for _, named in getattr(self, "relied", ()):
            found = context.resolve(self.conn, self.workspace, named)
            assert isinstance(found, Content)
            assert found.body == self.written[named]

    @invariant()
    def what_is_counted_is_there(self):
        if not hasattr(self, "workspace"):
            return
        usage = context.usage(self.conn, self.workspace)
        assert dict(self.conn.execute(METERS, [self.workspace]).fetchall()) == {
            "bytes": usage.bytes,
            "names": usage.files,
        }
        assert usage.files <= 2
        assert usage.bytes + usage.reserved <= 6
        assert self.conn.execute(PIECES, [self.workspace]).fetchone() == (len(self.under_way),)


def test_bytes_are_there_as_long_as_somebody_needs_them(conn, database):
    """Revisions, references and uploads, whoever comes and goes: what is stored is what is needed, and is counted."""
    bound = {"conn": conn, "new_workspace": staticmethod(database.new_workspace)}
    run_state_machine_as_test(type("Bound", (Counting,), bound), settings=settings(max_examples=chance.of(20)))
