"""Doors for third parties over HTTP: how they are made, and how what is sent to them comes in."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Final, assert_never

from msgspec import UnsetType

from steadhold import access
from steadhold.access.authenticate import actor
from steadhold.inboxes import doors
from steadhold.inboxes.door_keeper import IN, TALLY, hash_of, token_of
from steadhold.inboxes.door_model import (
    Came,
    CameIn,
    Door,
    DoorsFull,
    IdMissing,
    Knock,
    Sealed,
    SecretUnfit,
    TooManyHops,
    from_fault,
)
from steadhold.inboxes.door_wire import (
    CameInReply,
    DoorBody,
    DoorItem,
    DoorRotateBody,
    DoorSecretReply,
    door_item,
    secret_reply,
)
from steadhold.inboxes.model import NoInbox
from steadhold.inboxes.schemes import SCHEMES, Challenged, Refused, Scheme, secret_fault
from steadhold.kit import limits
from steadhold.kit.ids import UUID, new_secret
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.page import page
from steadhold.kit.plan import Call
from steadhold.kit.seal import Sealing
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route, Topic

PATH: Final = "/v1/inboxes/{inbox}/doors"
DOOR: Final = f"{PATH}/{{door:uuid}}"
FIRST: Final = "00000000-0000-0000-0000-000000000000"

_SIGNED: Final = (("www-authenticate", "Signature"),)
_LATER: Final = (("retry-after", "60"),)


@dataclass(frozen=True, slots=True)
class DoorRoutes:
    """The handlers of a server that seals by these keys, and is known outside by the address `base`."""

    sealing: Sealing
    base: str

    def make(self, ask: Request) -> Ask[Any]:
        """Make a door, and show its address."""
        problem.need_sealing(self.sealing)
        inbox, id = ask.params["inbox"], ask.fresh
        if not ask.permits("inboxes:append", inbox):
            problem.stop("missing_scope", "Whoever makes a door may append: this key lacks the scope inboxes:append.",
                         scope="inboxes:append")  # fmt: skip
        body = decode.body(ask, DoorBody)
        if body.id_from is not None and (why := from_fault(body.scheme, body.id_from)):
            problem.stop("bad_member", why, pointer="/id_from")
        token = token_of(access.secret_of(new_secret()))
        secret, shown = _secret(body.secret)
        if why := secret_fault(body.scheme, secret):
            problem.stop("bad_member", why, pointer="/secret")
        call = doors.make_door.call(
            ask.workspace, inbox, id, body.scheme, body.id_from, hash_of(token),
            self._sealed(ask.workspace, id, secret), by=actor(ask),
        )  # fmt: skip
        return _once(call, {"token": token, "url": f"{self.base}/v1/in/{token}", **shown}, 201)

    def rotate(self, ask: Request) -> Ask[Any]:
        """Have a new secret prove what comes in."""
        problem.need_sealing(self.sealing)
        inbox, id = ask.params["inbox"], ask.params["door"]
        body = decode.body(ask, DoorRotateBody)
        secret, shown = _secret(body.secret)
        fits: list[Scheme] = [scheme for scheme in SCHEMES if secret_fault(scheme, secret) is None]
        sealed = self._sealed(ask.workspace, id, secret)
        call = doors.rotate_door.call(ask.workspace, inbox, id, sealed, fits, body.grace_seconds, by=actor(ask))
        return _once(call, shown, 200)

    def come_in(self, ask: Request) -> Ask[Came]:
        """Take what a third party sends."""
        call = doors.come_in.call(ask.workspace, ask.who.key_id, Knock(ask.headers, ask.body), self.sealing)
        return Ask(call, _came, wakes=_wakes)

    def _sealed(self, workspace: str, door: str, secret: str) -> bytes:
        return self.sealing.seal(secret.encode(), doors.of_door(workspace, door))


def _secret(said: str | UnsetType) -> tuple[str, dict[str, str]]:
    """The secret that was said, or one that is made here and shown: every scheme takes it."""
    if not isinstance(said, UnsetType):
        return said, {}
    made = "whsec_" + base64.b64encode(new_secret()).decode()
    return made, {"secret": made}


def _once(call: Call[Any], shown: dict[str, str], status: int) -> Ask[Any]:
    """Show what is secret in this answer; what is kept of it says only that it was shown."""

    def told(door: Door, shown: dict[str, str] | None) -> Reply:
        return reply.json(secret_reply(door, shown), status, revision=door.revision, resource=door.subject)

    def render(outcome: Any) -> Answer:
        return told(outcome, shown) if isinstance(outcome, Door) else _refused(outcome)

    return Ask(call, render, remember=lambda door: told(door, None if shown else {}))


def _refused(outcome: NoInbox | DoorsFull | Missing | RevisionConflict | SecretUnfit) -> Problem:
    match outcome:
        case NoInbox():
            return problem.MISSING
        case DoorsFull():
            most = {"doors_max": limits.INBOX_DOORS_MAX}
            return Problem("doors_full", "The inbox has all its doors: delete one first.", most)
        case SecretUnfit():
            why = secret_fault(outcome.scheme, "") or ""
            return Problem("bad_member", why, {"pointer": "/secret"})
        case Missing() | RevisionConflict():
            return problem.refused(outcome)
        case _:
            assert_never(outcome)


def _came(outcome: Came) -> Answer:
    answer = _answered(outcome)
    TALLY[_what(outcome)] += 1
    return answer


def _what(outcome: Came) -> str:
    if isinstance(outcome, CameIn):
        return "accepted" if not outcome.duplicate else "duplicate_differs" if outcome.differs else "duplicate"
    return "challenge" if isinstance(outcome, Challenged) else "refused"


def _answered(outcome: Came) -> Answer:
    match outcome:
        case CameIn(_, event_id, duplicate):
            return reply.json(CameInReply(event_id=event_id, duplicate=duplicate), 200 if duplicate else 201)
        case Challenged(challenge):
            return Reply(200, challenge.encode(), "text/plain; charset=utf-8")
        case Refused(why):
            return Problem("signature_refused", f"Nothing was stored: {why}.", headers=_SIGNED)
        case IdMissing(where):
            why = f"An event is known by its id, of 1 to {limits.ID_CHARS_MAX} visible characters, in {where}."
            return Problem("id_missing", why, {"id_from": where})
        case TooManyHops():
            why = f"It has come through more than {limits.DOOR_HOPS_MAX} doors, so it goes in a circle."
            return Problem("too_many_hops", why)
        case Sealed():
            why = "The door's secret is sealed by a key that this server does not have; nothing was stored."
            return Problem("unavailable", why, headers=_LATER)
        case Missing():
            return problem.MISSING
        case _:
            assert_never(outcome)


def _wakes(outcome: Came) -> tuple[Topic, ...]:
    return (("inbox", outcome.inbox),) if isinstance(outcome, CameIn) and not outcome.duplicate else ()


def get(ask: Request) -> Ask[Door | Missing]:
    """Read a door."""

    def render(outcome: Door | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        return reply.json(door_item(outcome), revision=outcome.revision)

    return Ask(doors.get_door.call(ask.workspace, ask.params["inbox"], ask.params["door"]), render)


def delete(ask: Request) -> Ask[Door | Missing | RevisionConflict]:
    """Close a door for ever."""

    def render(outcome: Door | Missing | RevisionConflict) -> Answer:
        return reply.no_content(outcome.revision) if isinstance(outcome, Door) else _refused(outcome)

    expected = conditions.exact_match(ask)
    call = doors.delete_door.call(ask.workspace, ask.params["inbox"], ask.params["door"], expected, by=actor(ask))
    return Ask(call, render)


def listing(ask: Request) -> Ask[list[Door] | NoInbox]:
    """List the doors of an inbox."""
    most, after = query.limit(ask), query.cursor(ask, "doors", UUID)

    def render(found: list[Door] | NoInbox) -> Answer:
        if isinstance(found, NoInbox):
            return problem.MISSING
        return reply.listing(ask, page(found, most, "doors", lambda door: (door.id,)), door_item)

    call = doors.doors.call(ask.workspace, ask.params["inbox"], after[0] if after else FIRST, most + 1)
    return Ask(call, render)


CAME: Final = ("signature_refused", "id_missing", "too_many_hops")


def door_routes(sealing: Sealing, base: str) -> tuple[Route, ...]:
    """The routes of a server that seals by these keys, and is known outside by this address."""
    at = DoorRoutes(sealing, base)
    return (
        Route("POST", PATH, at.make, "inboxes:configure", "Make a door for a third party, and show its address",
              scoped="inbox", receipt="required", body="json", takes=DoorBody, gives=DoorSecretReply, status=201,
              problems=("doors_full", "no_sealing_key")),
        Route("GET", PATH, listing, "inboxes:read", "List the doors of an inbox", scoped="inbox", gives=DoorItem,
              query=("limit", "cursor")),
        Route("GET", DOOR, get, "inboxes:read", "Read a door", scoped="inbox", gives=DoorItem),
        Route("DELETE", DOOR, delete, "inboxes:configure", "Close a door for ever", scoped="inbox",
              headers=("if-match",), receipt="optional", status=204,
              problems=("condition_required", "condition_inexact", "condition_false")),
        Route("POST", f"{DOOR}/rotate", at.rotate, "inboxes:configure", "Give a door a new secret", scoped="inbox",
              receipt="required", body="json", takes=DoorRotateBody, gives=DoorSecretReply,
              problems=("no_sealing_key",)),
        Route("POST", IN, at.come_in, "", "Take what a third party sends", body="raw",
              body_bytes_max=limits.INBOX_EVENT_BYTES_MAX, gives=CameInReply, status=201, problems=CAME,
              capability="token", answers=("application/json", "text/plain")),
    )  # fmt: skip
