"""What an event refers to in context stays as long as the event does, whoever wrote it."""

from __future__ import annotations

import pytest

from steadhold import blobs, context, events
from steadhold.events import Appended, Happened, ReferenceUnknown

BODY = b"a report"


def kept(reference, conn, workspace):
    """Whether the bytes are still there once the file is gone and everything that may be pruned was."""
    context.delete(conn, workspace, "report", 1)
    with conn.cursor() as cursor:
        cursor.execute("delete from steadhold.context_revisions where path = 'report'")
        cursor.execute(
            "delete from steadhold.pins where workspace = %s and not starts_with(owner, 'reference:')", [workspace]
        )
        cursor.execute(
            "insert into steadhold.unpinned select workspace, digest from steadhold.blobs on conflict do nothing"
        )
    blobs.prune(conn, workspace, 100)
    return blobs.read(conn, workspace, reference.digest) == BODY


@pytest.fixture
def reference(conn, workspace):
    written = context.put(conn, workspace, "report", BODY, None)
    return context.Reference("report", written.revision, blobs.digest_of(BODY))


def referring(reference):
    return Happened("reported", data_ref=str(reference))


def test_what_an_event_refers_to_stays_while_it_is_kept(conn, workspace, reference, clock):
    assert isinstance(events.append(conn, workspace, "a", None, [referring(reference)] * 2), Appended)
    assert kept(reference, conn, workspace)
    clock.move(4 * 86_400)
    assert events.purge(conn, workspace, 1) == 1
    assert context.resolve(conn, workspace, str(reference)).bytes == len(BODY)
    assert events.purge(conn, workspace, 1) == 1
    blobs.prune(conn, workspace, 100)
    assert blobs.read(conn, workspace, reference.digest) == blobs.NoBytes(reference.digest)


def test_nothing_is_pinned_by_what_is_refused(conn, workspace, reference):
    events.append(conn, workspace, "a", None, [Happened("made")])
    assert not isinstance(events.append(conn, workspace, "a", None, [referring(reference)]), Appended)
    assert not kept(reference, conn, workspace)


@pytest.mark.parametrize("wrong", [
    "context:report@2#sha256:{digest}", "context:other@1#sha256:{digest}", "context:report@1#sha256:" + "0" * 64,
    "context:", "context:report@1", "context:report@0#sha256:{digest}", "context:re%70ort@1#sha256:{digest}",
])  # fmt: skip
def test_a_reference_to_nothing_is_refused(conn, workspace, reference, wrong):
    text = wrong.format(digest=reference.digest.hex())
    assert events.append(conn, workspace, "a", None, [Happened("t", data_ref=text)]) == ReferenceUnknown(text)
