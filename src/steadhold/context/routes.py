"""context over HTTP: bytes in, the same bytes out, and a condition on every write."""

from __future__ import annotations

from steadhold.context import doors, exporting, importing, plans
from steadhold.context.wire import EntryItem, ImportedReply, MoveBody, MovedReply, UsageReply, WrittenReply
from steadhold.kit import limits
from steadhold.private import doors as envelopes
from steadhold.web.ask import Route

SEALED = ("plaintext_refused", "envelope_mismatch")
WRITES = ("condition_required", "condition_inexact", "condition_false", "stale_fence")

ROUTES = (
    Route(
        "GET",
        "/v1/context/{path:path}",
        doors.get,
        "context:read",
        "Read the stored bytes",
        scoped="path",
        headers=("if-none-match", "range", "if-range"),
        query=("revision", "view", "wait_seconds", "limit", "cursor"),
        answers=("application/octet-stream", "application/json"),
        problems=("revision_pruned", "range_not_satisfiable", "too_many_streams"),
    ),
    Route(
        "PUT",
        "/v1/context/{path:path}",
        doors.put,
        "context:write",
        "Write under a condition",
        scoped="path",
        headers=("if-match", "if-none-match", "fence", "content-digest", "repr-digest"),
        receipt="optional",
        body="stream",
        body_bytes_max=limits.CONTEXT_BYTES_MAX,
        gives=WrittenReply,
        problems=(*WRITES, "storage_exhausted", "digest_mismatch", "upload_lapsed", "too_many_streams", *SEALED),
    ),
    Route(
        "DELETE",
        "/v1/context/{path:path}",
        doors.delete,
        "context:write",
        "Delete under a condition",
        scoped="path",
        headers=("if-match", "fence"),
        receipt="optional",
        status=204,
        problems=WRITES,
    ),
    Route(
        "GET",
        "/v1/context",
        doors.listing,
        "context:read",
        "List files",
        narrows=True,
        query=("prefix", "limit", "cursor"),
        gives=EntryItem,
    ),
    Route(
        "POST",
        "/v1/context:move",
        doors.move,
        "context:write",
        "Move a file, with its id and history",
        narrows=True,
        headers=("if-match", "fence"),
        receipt="optional",
        body="json",
        takes=MoveBody,
        gives=MovedReply,
        problems=(*WRITES, "path_taken", "bad_name", "rewrap_needed"),
    ),
    Route("GET", "/v1/context:usage", doors.usage, "context:read", "What files use", gives=UsageReply),
    Route(
        "GET",
        "/v1/context:export",
        exporting.export,
        "context:read",
        "All files as one archive",
        narrows=True,
        query=("prefix",),
        answers=("application/x-tar",),
        problems=("too_many_streams",),
    ),
    Route(
        "POST",
        "/v1/context:import",
        importing.take,
        "context:write",
        "Write the files of an archive, an outcome each",
        narrows=True,
        query=("prefix",),
        body="stream",
        body_bytes_max=limits.IMPORT_BYTES_MAX,
        media=("application/x-tar",),
        gives=ImportedReply,
        problems=("bad_archive", "too_many_streams"),
    ),
    Route(
        "GET",
        "/v1/context:resolve",
        doors.resolve,
        "context:read",
        "The bytes of a reference",
        narrows=True,
        headers=("range", "if-range", "if-none-match"),
        query=("reference",),
        answers=("application/octet-stream",),
        problems=("revision_pruned", "range_not_satisfiable"),
    ),
    *envelopes.doors("context", plans.readable),
)
