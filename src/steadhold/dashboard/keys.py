"""Keys: what there is, a new one shown once, rotate and revoke."""

from __future__ import annotations

from typing import Any

from steadhold.access import VERBS
from steadhold.access.scopes import ONLY
from steadhold.dashboard.page import Action, Go, Outcome, Page, Refused, Room, View

LIFETIMES = (
    ("604800", "7 days"),
    ("2592000", "30 days"),
    ("7776000", "90 days"),
    ("31536000", "a year"),
    ("", "as long as this key"),
)
GRACES = (("0", "none"), ("3600", "an hour"), ("86400", "a day"))


async def index(view: View) -> Outcome:
    """All keys, in the order of their making."""
    listed = await view.get("/v1/keys", limit=100, cursor=view.query.get("cursor"))
    return view.show("keys/index.html", listed=listed)


async def one(view: View) -> Outcome:
    """What is known of a key."""
    found = await view.get("/v1/keys", view.params["id"])
    trail = await view.maybe("/v1/audit", resource=f"key:{view.params['id']}", limit=20)
    return view.show("keys/one.html", key=found.facts, trail=trail, graces=GRACES)


async def new(view: View) -> Outcome:
    """The form for a key."""
    return _form(view, None)


async def make(view: View) -> Outcome:
    """Make a key, and show it on the page that answers: a page that is loaded again has it no more."""
    lifetime = view.number("lifetime")
    wanted: dict[str, Any] = {
        "subject": view.form.get("subject", "").strip(),
        "kind": view.form.get("kind", ""),
        "scopes": [*view.lists.get("scopes", ()), *view.text("more").split()],
    }
    if lifetime is not None:
        wanted["expires_in_seconds"] = lifetime
    try:
        made = await view.post("/v1/keys", body=wanted)
    except Refused as no:
        return _form(view, no)
    return view.show("keys/made.html", key=made.facts, status=made.status)


async def rotate(view: View) -> Outcome:
    """Give a key a new secret, shown as that of a new key is."""
    grace = view.number("grace") or 0
    made = await view.post("/v1/keys", view.params["id"], "rotate", body={"grace_seconds": grace})
    return view.show("keys/made.html", key=made.facts)


async def revoke(view: View) -> Go:
    """End a key."""
    await view.post("/v1/keys", view.params["id"], "revoke")
    return view.go("/keys", view.params["id"])


def _form(view: View, no: Refused | None) -> Outcome:
    person = view.session.who.kind != "service"
    offered = {room: [verb for verb in verbs if _offered(view, f"{room}:{verb}")] for room, verbs in VERBS.items()}
    return view.show(
        "keys/new.html", no=no, offered={room: verbs for room, verbs in offered.items() if verbs}, person=person,
        lifetimes=LIFETIMES,
    )  # fmt: skip


def _offered(view: View, scope: str) -> bool:
    return ONLY.get(scope) in {None, "person"} and view.reaches(scope)


ROOM = Room(
    "keys", "Keys", "Administration", scope="keys:read",
    pages=(
        Page("/keys", index, "keys:read"),
        Page("/keys:new", new, "keys:create"),
        Page("/keys/{id}", one, "keys:read"),
    ),
    actions=(
        Action("/keys:new", make, "keys:create"),
        Action("/keys/{id}/rotate", rotate, "keys:rotate"),
        Action("/keys/{id}/revoke", revoke, "keys:revoke", done="The key was revoked: 5 seconds on it opens nothing."),
    ),
)  # fmt: skip
