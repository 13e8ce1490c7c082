"""The grammar of pages: a room lists its pages and actions; each is a function of a `View` to what is shown or done."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from steadhold.dashboard.asking import target
from steadhold.dashboard.facts import Answered, Payload, payload
from steadhold.dashboard.session import Session
from steadhold.kit import fields, ids
from steadhold.kit.ids import IdFault
from steadhold.kit.plan import Call
from steadhold.web.problem import stop

PAYLOADS: Final = "payloads:read"
_WHOLE: Final = re.compile(r"[0-9]{1,18}")
_LEFT_OUT: Final = {
    len("2026-01-01"): "T00:00:00Z", len("2026-01-01T00:00"): ":00Z", len("2026-01-01T00:00:00"): "Z",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """A page: its template, what it is filled with, and in how many seconds to come again, where that is told."""

    template: str
    facts: Mapping[str, Any]
    status: int = 200
    after: str = ""


@dataclass(frozen=True, slots=True)
class Go:
    """Elsewhere, by a GET (303). `cookie` is set on the way: "" takes it away, None leaves it."""

    address: str
    cookie: str | None = None


@dataclass(frozen=True, slots=True)
class Download:
    """What a door answers, to be kept as a file of this name."""

    address: str
    query: str
    name: str


Outcome: TypeAlias = Shown | Go | Download
Handler: TypeAlias = "Callable[[View], Awaitable[Outcome]]"
Otherwise: TypeAlias = "Callable[[View, Refused], Awaitable[Outcome]]"


@dataclass(frozen=True, slots=True)
class Page:
    """What `GET /ui<path>` shows; the path has parameters as a door's (`{id}`, `{id:uuid}`, `{name:path}`).

    `scope` is what the key needs to be shown it; the doors that it asks have scopes of their own.
    """

    path: str
    show: Handler
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What `POST /ui<path>` does: it asks a door, and then goes to a page. `done` is told there.

    `fresh`: only within the first minutes after the key was typed.
    """

    path: str
    do: Handler
    scope: str
    done: str = ""
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """A room's place in the dashboard: its name in the menu, under which group, and what it has."""

    name: str
    title: str
    group: str
    pages: tuple[Page, ...]
    actions: tuple[Action, ...] = ()
    scope: str = ""


class Refused(Exception):
    """A door said no. Where a page does not catch it, it is shown as a page. `after` is what Retry-After said."""

    def __init__(self, status: int, facts: Mapping[str, Any], after: str = "") -> None:
        super().__init__(str(facts.get("code")))
        self.status, self.facts, self.after = status, facts, after

    @property
    def code(self) -> str:
        """The problem's code."""
        return str(self.facts.get("code", ""))


class Desk(Protocol):
    """What a view asks: doors, plans, scopes."""

    async def ask(
        self, session: Session, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> Answered: ...  # fmt: skip
    async def play(self, call: Call[Any]) -> Any: ...
    def permits(self, session: Session, scope: str, name: str | None) -> bool: ...
    def reaches(self, session: Session, scope: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class View:
    """One request of a page: who sits before it, what was asked, and the way to the doors.

    `root` is the address of the dashboard without its last slash; `path` what follows it. `form` is what a POST
    brought: names to texts (the last of several); `lists` has all of each.
    """

    desk: Desk
    session: Session
    root: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict[str, str])
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])

    @property
    def workspace(self) -> str:
        """The workspace that is looked at; "" while an operator has chosen none."""
        return self.session.workspace

    def may(self, scope: str, name: str | None = None) -> bool:
        """Whether the key may do this (to a name, or without one to everything)."""
        return self.desk.permits(self.session, scope, name)

    def reaches(self, scope: str) -> bool:
        """Whether the key may do this to some names at least: a list shows those."""
        return not scope or self.desk.reaches(self.session, scope)

    def url(self, path: str, /, *segments: str, **query: Any) -> str:
        """An address within the dashboard: `view.url("/jobs", id, tab="events")`."""
        whole, asked = target(path, segments, query)
        return f"{self.root}{whole}?{asked}" if asked else self.root + whole

    def again(self, path: str, /, **changed: Any) -> str:
        """The address of a list with the filters of this request, some changed: `view.again("/jobs", cursor=next)`."""
        return self.url(path, **{**self.query, **changed})

    # --- reading

    async def get(self, path: str, /, *segments: str, **query: Any) -> Answered:
        """Ask a door: `await view.get("/v1/jobs", id)`. Raises Refused for anything but 2xx."""
        whole, asked = target(path, segments, query)
        return _said_yes(await self.desk.ask(self.session, "GET", whole, asked, {}, b""))

    async def maybe(self, path: str, /, *segments: str, **query: Any) -> Answered | None:
        """The same; None where it is not there, or the key may not read it."""
        try:
            return await self.get(path, *segments, **query)
        except Refused as no:
            if no.status in {403, 404, 410}:
                return None
            raise

    async def play(self, call: Call[Any]) -> Any:
        """Play a reading plan of a room, where no door gives what a page needs. Test its scope before (`may`)."""
        if not self.workspace:
            stop("workspace_required", "An operator's key belongs to no workspace: log in with the name of one.")
        return await self.desk.play(call)

    def payload(self, raw: bytes, content_type: str = "application/json") -> Payload:
        """User bytes that came some other way, hidden where the key may not read payloads."""
        return payload(raw, content_type, readable=self.may(PAYLOADS))

    # --- doing

    async def post(self, path: str, /, *segments: str, body: Any = None, **more: Any) -> Answered:
        """Ask a door to do something. Raises Refused for anything but 2xx. `more` as of `send`."""
        return await self.send("POST", path, *segments, body=body, **more)

    async def send(
        self,
        method: str,
        path: str,
        /,
        *segments: str,
        body: Any = None,
        revision: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        operation: str | None = None,
    ) -> Answered:
        """Ask a door to do something under the operation id of the form, so that a form sent twice does it once.

        `body` is made JSON, bytes are sent as they are (name their type in `headers`); `revision` becomes If-Match,
        0 If-None-Match: *. A form that asks several doors gives each an `operation` of its own, made of the form's.
        Raises Refused for anything but 2xx.
        """
        whole, asked = target(path, segments, query or {})
        said = {"idempotency-key": operation or self.operation, **(headers or {})}
        if revision is not None:
            said |= {"if-match": fields.etag(revision)} if revision else {"if-none-match": "*"}
        raw = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        if body is not None:
            said.setdefault("content-type", "application/json")
        return _said_yes(await self.desk.ask(self.session, method, whole, asked, said, raw))

    async def act(self, room: str, verb: str, otherwise: Otherwise, **more: Any) -> Outcome:
        """Do something to what the page `<room>/{id}` shows, and go back there; `more` as of `send`.

        Where that is refused, `otherwise` shows the page with the reason.
        """
        id = self.params["id"]
        try:
            await self.post(f"/v1{room}", id, verb, **more)
        except Refused as no:
            if no.status == 404:
                raise
            return await otherwise(self, no)
        return self.go(room, id)

    def number(self, name: str) -> int | None:
        """The whole number in a field of the form; None where the field is absent or empty. Raises Stop for others."""
        said = self.form.get(name, "").strip()
        found = whole(said)
        if said and found is None:
            stop("bad_request", f"{name} is a whole number of at most 18 digits.")
        return found

    def text(self, name: str) -> str:
        """What was typed into a field of many lines, with the line ends that people mean; "" where it is absent."""
        return self.form.get(name, "").replace("\r\n", "\n")

    @property
    def operation(self) -> str:
        """The operation id that the form brought."""
        key = ids.operation_key(self.form.get("operation", ""))
        return ids.new_id() if isinstance(key, IdFault) else key

    # --- answering

    def show(self, template: str, /, *, no: Refused | None = None, status: int | None = None, **facts: Any) -> Shown:
        """Show `templates/<template>` with these facts; `view` is there too.

        `no` is why a door refused, where one did: its status is the page's, unless that is given.
        """
        said = status or (200 if no is None else no.status)
        return Shown(template, {"no": no, **facts}, said, "" if no is None else no.after)

    def go(self, path: str, /, *segments: str, **query: Any) -> Go:
        """Go to a page after an action; `done` of the action is told there."""
        return Go(self.url(path, *segments, **query))

    def download(self, path: str, /, *segments: str, name: str, **query: Any) -> Download:
        """Let the browser keep what a door answers, as a file of this name."""
        whole, asked = target(path, segments, query)
        return Download(whole, asked, name)


def whole(text: str) -> int | None:
    """A whole number as people type it; None for anything else, and for more digits than numbers here have."""
    return int(text) if _WHOLE.fullmatch(text) else None


def instant(text: str) -> str:
    """An instant as people type it, as doors take it: a day begins at midnight, and without a zone it is UTC."""
    return text + _LEFT_OUT.get(len(text), "")


def _said_yes(answered: Answered) -> Answered:
    if 200 <= answered.status < 300:
        return answered
    raise refused(answered)


def refused(answered: Answered) -> Refused:
    """What a door said that says no; an answer that was cut says nothing more."""
    facts = msgspec.json.decode(answered.body) if answered.body else {"code": "unavailable"}
    return Refused(answered.status, facts, answered.headers.get("retry-after", ""))
