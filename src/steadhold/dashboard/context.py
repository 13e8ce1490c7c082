"""Context: files by prefix, their revisions, and the beginning of what is in them."""

from __future__ import annotations

from steadhold.context import model
from steadhold.dashboard.browsing import level, trail
from steadhold.dashboard.difference import beginning
from steadhold.dashboard.facts import Payload
from steadhold.dashboard.page import Download, Go, Outcome, Page, Refused, Room, View

READ = "context:read"


async def index(view: View) -> Outcome:
    """Files under a prefix, and what they use."""
    return view.show(
        "context/index.html", level=await level(view, "context", "path"), usage=await view.maybe("/v1/context:usage")
    )


async def one(view: View) -> Outcome:
    """A file: its revisions, and the bytes of one of them."""
    path, wanted = view.params["path"], view.query.get("revision")
    kept = await view.get("/v1/context", path, view="revisions", limit=100, cursor=view.query.get("cursor"))
    shown = next((item for item in kept.items if not wanted or str(item["revision"]) == wanted), None)
    if shown is None and wanted:
        return view.go("/context", path, cursor=view.query.get("cursor"))
    return view.show(
        "context/one.html", path=path, kept=kept, shown=shown, trail=trail(path)[:-1],
        payload=None if shown is None or shown["deleted"] else await _bytes(view, path, shown["revision"]),
    )  # fmt: skip


async def _bytes(view: View, path: str, revision: int) -> Payload | None:
    """The bytes of a revision, or their beginning; None where they are kept no more."""
    try:
        return await beginning(view, "/v1/context", path, revision=revision)
    except Refused as no:
        if no.status in {404, 410}:
            return None
        raise


async def download(view: View) -> Download:
    """All bytes of a revision, in a file."""
    path = view.params["path"]
    revision = view.query.get("revision") or None
    return view.download("/v1/context", path, name=path.rpartition("/")[2], revision=revision)


async def reference(view: View) -> Go:
    """The page of what a reference names."""
    found = model.reference(view.query.get("to", ""))
    return view.go("/context") if found is None else view.go("/context", found.path, revision=found.revision)


ROOM = Room(
    "context", "Context", "Data", scope=READ,
    pages=(
        Page("/context", index, READ),
        Page("/context/{path:path}", one, READ),
        Page("/context:raw/{path:path}", download, READ),
        Page("/context:reference", reference, READ),
    ),
)  # fmt: skip
