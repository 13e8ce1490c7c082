"""`/ui` as an ASGI application: session, page, action, and nothing without a key but the login."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from steadhold.access.authenticate import Keyring
from steadhold.dashboard import guard, rendering
from steadhold.dashboard.desk import NOT_FRESH, Desk
from steadhold.dashboard.page import Action, Download, Go, Page, Refused, Room, Shown, View
from steadhold.dashboard.rooms import GROUPS, ROOMS
from steadhold.dashboard.sending import HTML, PAGE, PATH, Receive, Turn, file_fields, reply, reply_static
from steadhold.dashboard.session import Session, Sessions
from steadhold.kit import limits
from steadhold.kit.ids import new_id
from steadhold.web import body as bodies
from steadhold.web import heading as heads
from steadhold.web.ask import Problem, Route, Stop
from steadhold.web.codes import PROBLEMS
from steadhold.web.heading import heading
from steadhold.web.problem import MISSING
from steadhold.web.router import Router
from steadhold.web.serve import Doors
from steadhold.web.wire import Send

Scope: TypeAlias = Mapping[str, Any]

DONE_SECONDS: Final = 20


class Front:
    """The dashboard. `routes` are the doors' own, `public_url` the address that browsers see, or nothing."""

    def __init__(self, routes: Sequence[Route], doors: Doors, keyring: Keyring, public_url: str) -> None:
        self._sessions = Sessions(keyring, doors.above.play)
        self._desk = Desk(routes, doors, self._sessions)
        self._above, self._public_url = doors.above, public_url
        self._secure = urlsplit(public_url).scheme == "https"
        self._pages: dict[int, tuple[Room, Page | Action]] = {}
        self._router = Router(self._routes())
        self._done = {f"{room.name}-{n}": act.done for room in ROOMS for n, act in enumerate(room.actions)}

    def _routes(self) -> list[Route]:
        made: list[Route] = []
        for room in ROOMS:
            for one in (*room.pages, *room.actions):
                route = Route("GET" if isinstance(one, Page) else "POST", one.path, _never, one.scope, room.title)
                self._pages[id(route)] = (room, one)
                made.append(route)
        return made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request to `/ui` or below."""
        mount: str = scope.get("root_path", "")
        raw = bytes(scope.get("raw_path") or scope["path"].encode())
        below = raw.removeprefix(mount.encode()).removeprefix(PATH.encode()).decode("latin-1") or "/"
        secure = self._secure or scope.get("scheme") == "https"
        turn = Turn(scope["method"], quote(mount) + PATH, below, heading(scope["headers"]), {}, receive, send, secure)
        session: Session | None = None
        try:
            heads.refuse_repeated(turn.head)
            turn = replace(turn, query=heads.parameters(bytes(scope["query_string"])))
            session = await self._sessions.find(turn.cookie(guard.SESSION))
            await self._answer(turn, session)
        except Refused as no:
            await self._refused(turn, session, no)
        except Stop as stopped:
            await self._refused(turn, session, told(stopped.problem))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is logged, and never shown
            await self._refused(turn, session, self._troubled(error, turn))

    async def _answer(self, turn: Turn, session: Session | None) -> None:
        if turn.path.startswith("/static/"):
            if not await reply_static(turn, turn.path.removeprefix("/static/")):
                raise told(MISSING)
        elif turn.path == "/login":
            await self._login(turn, session)
        elif session is None:
            await self._outside(turn)
        elif turn.path == "/logout" and turn.method == "POST":
            await self._form(turn, session)
            await self._sessions.end(session)
            await self._go(turn, Go(turn.root + "/login", cookie=""))
        elif (limited := self._above.rate(session.who)) is not None:
            raise told(limited)
        else:
            await self._page(turn, session)

    # --- without a session

    async def _login(self, turn: Turn, session: Session | None) -> None:
        asked = {"again": session is not None, "workspace": turn.query.get("workspace", "")}
        if turn.method != "POST":
            to = guard.within(turn.root, turn.query.get("next", ""))
            await self._show(turn, None, Shown("login.html", {"wrong": False, "next": to, **asked}))
            return
        guard.own_origin(turn.head.fields, self._public_url)
        fields, _ = guard.form(*await _body(turn))
        opened = await self._sessions.open(fields.get("key", ""), fields.get("workspace", "").strip())
        to = guard.within(turn.root, fields.get("next", ""))
        if opened is None:
            await self._show(turn, None, Shown("login.html", {"wrong": True, "next": to, **asked}, 401))
            return
        if session is not None:
            await self._sessions.end(session)
        await self._go(turn, Go(to, cookie=opened.text))

    async def _outside(self, turn: Turn) -> None:
        """Show the way in. A link of another site comes without the cookie, so it is followed once more from here."""
        to = f"{turn.root}/login?{urlencode({'next': turn.here})}"
        if turn.partial:
            await reply(turn, 401, (*PAGE, (b"hx-refresh", b"true")), b"")
        elif turn.method == "POST":
            await self._show(turn, None, Shown("ended.html", {"login": to}, 401))
        elif turn.head.get("sec-fetch-site") == "cross-site":
            await self._show(turn, None, Shown("arriving.html", {"here": turn.here}))
        else:
            await self._go(turn, Go(to))

    # --- with one

    async def _page(self, turn: Turn, session: Session) -> None:
        room, page, params = self._found(turn)
        view = View(self._desk, session, turn.root, turn.path, params, turn.query)
        if isinstance(page, Action):
            fields, lists = await self._form(turn, session)
            view = replace(view, form=fields, lists=lists)
        _in_scope(view, page)
        outcome = await (page.do if isinstance(page, Action) else page.show)(view)
        if isinstance(outcome, Shown):
            await self._show(turn, view, outcome, room)
        elif isinstance(outcome, Download):
            await self._desk.hand_on(session, outcome, turn, file_fields(outcome.name))
        else:
            await self._go(turn, outcome, room, page)

    def _found(self, turn: Turn) -> tuple[Room, Page | Action, Mapping[str, str]]:
        found = self._router.find(turn.path.encode("latin-1"))
        route = None if found is None else found[0].get(turn.method)
        if found is None or route is None:
            raise told(MISSING)
        return *self._pages[id(route)], found[1]

    async def _form(self, turn: Turn, session: Session) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        guard.own_origin(turn.head.fields, self._public_url)
        fields, lists = guard.form(*await _body(turn))
        guard.own_form(session, fields)
        return fields, lists

    # --- answers

    async def _show(self, turn: Turn, view: View | None, shown: Shown, room: Room | None = None) -> None:
        done = "" if turn.partial or view is None else self._done.get(turn.cookie(guard.DONE), "")
        more = [(b"set-cookie", self._cookie(turn, guard.DONE, "", 0))] if done else []
        if shown.after:
            more.append((b"retry-after", shown.after.encode("latin-1")))
        facts = {"view": view, "here": room, "done": done, "root": turn.root, **shown.facts}
        body = await asyncio.to_thread(rendering.render, shown.template, facts | {"menu": _menu(view)})
        await reply(turn, shown.status, (*PAGE, (b"content-type", HTML), *more), body)

    async def _go(self, turn: Turn, go: Go, room: Room | None = None, page: Page | Action | None = None) -> None:
        fields = [(b"location", go.address.encode("latin-1"))]
        if go.cookie is not None:
            seconds = limits.SESSION_SECONDS_MAX if go.cookie else 0
            fields.append((b"set-cookie", self._cookie(turn, guard.SESSION, go.cookie, seconds)))
        if room is not None and isinstance(page, Action) and page.done:
            named = f"{room.name}-{room.actions.index(page)}"
            fields.append((b"set-cookie", self._cookie(turn, guard.DONE, named, DONE_SECONDS)))
        await reply(turn, 303, (*PAGE, *fields), b"")

    def _cookie(self, turn: Turn, name: str, value: str, seconds: int) -> bytes:
        return guard.set_cookie(name, value, turn.root, seconds=seconds, secure=turn.secure).encode()

    async def _refused(self, turn: Turn, session: Session | None, no: Refused) -> None:
        kind = PROBLEMS.get(no.code, PROBLEMS["internal"])
        facts = {
            "kind": kind,
            "problem": no.facts,
            "status": no.status,
            "again": turn.here if turn.method == "GET" else "",
        }
        view = None if session is None else View(self._desk, session, turn.root, turn.path, {}, turn.query)
        template = "part_refused.html" if turn.partial else "refused.html"
        await self._show(turn, view, Shown(template, facts, no.status, no.after))

    def _troubled(self, error: Exception, turn: Turn) -> Refused:
        problem = self._above.trouble(error)
        if problem is not None:
            return told(problem)
        request_id = new_id()
        self._above.alarm(error, {"request_id": request_id, "method": turn.method, "route": PATH})
        return told(
            Problem(
                "internal",
                "This was not foreseen. The log has more under the request's id.",
                {"request_id": request_id},
            )
        )


def told(problem: Problem) -> Refused:
    """A problem of our own, to be shown as a page."""
    facts = {"code": problem.code, "detail": problem.detail, **problem.extras}
    return Refused(PROBLEMS[problem.code].status, facts, dict(problem.headers).get("retry-after", ""))


def _in_scope(view: View, page: Page | Action) -> None:
    if not view.may(page.scope) and not view.reaches(page.scope):
        raise told(Problem("missing_scope", f"This key lacks the scope {page.scope}.", {"scope": page.scope}))
    if isinstance(page, Action) and page.fresh and not view.session.fresh:
        raise told(Problem("login_not_fresh", NOT_FRESH))


def _menu(view: View | None) -> list[tuple[str, list[Room]]]:
    if view is None:
        return []
    seen = [room for room in ROOMS if view.reaches(room.scope)]
    groups = ((group, [room for room in seen if room.group == group]) for group in GROUPS)
    return [(group, of_it) for group, of_it in groups if of_it]


async def _body(turn: Turn) -> tuple[bytes, str]:
    return await bodies.read(turn.receive, limits.FORM_BYTES_MAX), turn.head.get("content-type") or ""


def _never(_: Any) -> Any:
    raise AssertionError("it only stands in the table of addresses")
