"""webhooks over HTTP: endpoints, their secrets, and where they may lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from msgspec import UNSET

from steadhold.access import StorageExhausted
from steadhold.access.authenticate import actor
from steadhold.events import WritersOpen
from steadhold.kit.ids import UUID, new_secret
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.page import page
from steadhold.kit.plan import Call
from steadhold.kit.seal import Sealing
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request
from steadhold.web.problem import SOON
from steadhold.webhooks import guard, heading, health, outcomes, plans, replaying, sign, wire
from steadhold.webhooks.guard import Allowed
from steadhold.webhooks.model import Endpoint, Replay, Shown, Spec
from steadhold.webhooks.outcomes import Refused
from steadhold.webhooks.plans import Sealed

FIRST: Final = "00000000-0000-0000-0000-000000000000"


def refused(outcome: Refused) -> Problem:
    """The problem that a refusal is."""
    match outcome:
        case Missing() | RevisionConflict():
            return problem.MISSING if isinstance(outcome, Missing) else problem.refused(outcome)
        case WritersOpen():
            why = "Transactions that write events have been open for long; try again."
            return Problem("writers_open", why, headers=SOON)
        case StorageExhausted():
            return Problem(outcome.code, outcome.detail, outcome.extras)
        case outcomes.SecretsFull():
            return Problem("too_many_secrets", "Two secrets before this one still sign; wait, or rotate without grace.")
        case outcomes.Disabled():
            return Problem("webhook_disabled", "Nothing is sent to it but a ping; enable it first.")
        case outcomes.Ended(state):
            return Problem("delivery_ended", f"The delivery has ended: it is {state}.", {"state": state})
        case outcomes.ReplayEnded():
            return Problem("replay_ended", "The replay is over: there is nothing left to cancel.")
        case outcomes.Pruned(first):
            told = {"first_retained_at": reply.maybe_instant(first)}
            return Problem("deliveries_pruned", "Deliveries reach only as far back as they are kept.", told)


def _shown(outcome: Shown | Refused, status: int = 200) -> Answer:
    if not isinstance(outcome, Shown):
        return refused(outcome)
    at = outcome.endpoint
    return reply.json(wire.endpoint_reply(outcome), status, revision=at.revision, resource=at.subject)


def rendered(into: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """What a wanted outcome renders to; a refusal is its problem."""

    def render(outcome: Any) -> Answer:
        return refused(outcome) if isinstance(outcome, Refused) else into(outcome)

    return render


@dataclass(frozen=True, slots=True)
class Doors:
    """The handlers of a server that seals by these keys, and lets webhooks go where these rules say."""

    sealing: Sealing
    rules: Sequence[Allowed]
    kept_seconds: float

    def _url(self, url: str) -> None:
        if why := guard.url_fault(url, self.rules):
            problem.stop("bad_url", why, pointer="/url")

    def _headers(self, workspace: str, id: str, fields: Mapping[str, str]) -> bytes | None:
        if len(fields) > heading.FIELDS_MAX or len({name.lower() for name in fields}) < len(fields):
            problem.stop(
                "bad_webhook_header",
                f"A webhook has at most {heading.FIELDS_MAX} fields, each once.",
                pointer="/headers",
            )
        for name, value in fields.items():
            if why := heading.field_fault(name, value):
                problem.stop("bad_webhook_header", why, pointer="/headers")
        return heading.sealed_headers(self.sealing, workspace, id, fields)

    def _secret(self, workspace: str, id: str, *, asymmetric: bool) -> tuple[str, Sealed]:
        """A new secret: what its receiver is shown, and what is kept."""
        made = sign.Asymmetric(new_secret()) if asymmetric else None
        text = sign.private_text(made) if made else sign.secret_text(new_secret())
        sealed = self.sealing.seal(text.encode(), heading.of_secret(workspace, id))
        return (sign.public_text(made), (sealed, sign.public_text(made))) if made else (text, (sealed, None))

    def create(self, ask: Request) -> Ask[Any]:
        """Make an endpoint, disabled, and show its secret."""
        problem.need_sealing(self.sealing)
        body, id = decode.body(ask, wire.EndpointBody), ask.fresh
        self._url(body.url)
        waits = health.RETRY_SECONDS if body.retry_seconds is UNSET else body.retry_seconds
        spec = Spec(
            body.url, body.types, _ordered(body.ordered), body.on_exhausted == "block", body.rate, body.concurrency,
            self._headers(ask.workspace, id, body.headers), tuple(body.headers), waits,
        )  # fmt: skip
        text, sealed = self._secret(ask.workspace, id, asymmetric=False)
        more = (self._secret(ask.workspace, id, asymmetric=True)[1],) if body.asymmetric else ()
        call = plans.create.call(ask.workspace, id, spec, (*more, sealed), by=actor(ask))
        return _once(call, text, 201)

    def rotate(self, ask: Request) -> Ask[Any]:
        """Sign with a new secret, and show it."""
        problem.need_sealing(self.sealing)
        body, id = decode.body(ask, wire.EndpointRotateBody), ask.params["id"]
        text, sealed = self._secret(ask.workspace, id, asymmetric=body.asymmetric)
        return _once(plans.rotate.call(ask.workspace, id, sealed, body.grace_seconds, by=actor(ask)), text, 200)

    def change(self, ask: Request) -> Ask[Any]:
        """Change where an endpoint is and what it takes."""
        problem.need_sealing(self.sealing)
        body, id = decode.body(ask, wire.ChangeBody), ask.params["id"]
        changes: dict[str, Any] = {}
        if body.url is not UNSET:
            self._url(body.url)
        for name in ("url", "types", "rate", "concurrency", "retry_seconds"):
            if (value := getattr(body, name)) is not UNSET:
                changes[name] = value
        if body.ordered is not UNSET:
            changes["ordered"] = _ordered(body.ordered)
        if body.on_exhausted is not UNSET:
            changes["blocks"] = body.on_exhausted == "block"
        if body.headers is not UNSET:
            changes["headers"] = self._headers(ask.workspace, id, body.headers)
            changes["header_names"] = tuple(body.headers)
        expected = conditions.exact_match(ask)
        edit: Callable[[Spec], Spec] = lambda spec: replace(spec, **changes)  # noqa: E731 - it is handed on at once
        return Ask(plans.change.call(ask.workspace, id, expected, edit, by=actor(ask)), _shown)

    def replay_many(self, ask: Request) -> Ask[Any]:
        """Deliver again what has come since a moment."""
        body = decode.body(ask, wire.WebhookReplayBody)
        until = None if body.until is None else _moment(body.until, "until")
        call = replaying.replay_many.call(
            ask.workspace, ask.params["id"], ask.fresh, _moment(body.since, "since"), body.only, until=until,
            kept_seconds=self.kept_seconds,
        )  # fmt: skip
        return Ask(call, rendered(_replay_accepted))


def _ordered(said: str | bool) -> bool:  # noqa: FBT001 - as it was sent
    if said is True:
        problem.stop("bad_member", '/ordered must be false or "aggregate".', pointer="/ordered")
    return said == "aggregate"


def _moment(text: str, name: str) -> datetime:
    found = query.moment(text)
    if found is None:
        problem.stop("bad_member", f"/{name} must be a time, such as 2026-11-29T16:00:00Z.", pointer=f"/{name}")
    return found


def _once(call: Call[Any], secret: str, status: int) -> Ask[Any]:
    """Show a secret in this answer; what is kept of it says only that it was shown."""

    def told(outcome: Shown, secret: str | None) -> Reply:
        at = outcome.endpoint
        return reply.json(wire.secret_reply(outcome, secret), status, revision=at.revision, resource=at.subject)

    def render(outcome: Any) -> Answer:
        return told(outcome, secret) if isinstance(outcome, Shown) else refused(outcome)

    return Ask(call, render, remember=lambda outcome: told(outcome, None))


def get(ask: Request) -> Ask[Shown | Missing]:
    """Read an endpoint."""

    def render(outcome: Shown | Missing) -> Answer:
        if isinstance(outcome, Shown) and conditions.unchanged(ask, outcome.endpoint.revision):
            return reply.not_modified(outcome.endpoint.revision)
        return _shown(outcome)

    return Ask(plans.get.call(ask.workspace, ask.params["id"]), render)


def listing(ask: Request) -> Ask[list[Endpoint]]:
    """Endpoints in the order in which they were made."""
    most, after = query.limit(ask), query.cursor(ask, "webhooks", UUID)

    def render(found: list[Endpoint]) -> Answer:
        return reply.listing(ask, page(found, most, "webhooks", lambda at: (at.id,)), wire.endpoint_item)

    return Ask(plans.listed.call(ask.workspace, after[0] if after else FIRST, most + 1), render)


def delete(ask: Request) -> Ask[Any]:
    """Remove an endpoint."""
    call = plans.delete.call(ask.workspace, ask.params["id"], conditions.exact_match(ask), by=actor(ask))
    return Ask(call, rendered(lambda gone: reply.no_content(gone.revision)))


def enable(ask: Request) -> Ask[Any]:
    """Let deliveries begin."""
    return Ask(plans.enable.call(ask.workspace, ask.params["id"], by=actor(ask)), _shown)


def disable(ask: Request) -> Ask[Any]:
    """Begin no more attempts."""
    return Ask(plans.disable.call(ask.workspace, ask.params["id"], by=actor(ask)), _shown)


def _replay_accepted(at: Replay) -> Reply:
    return reply.json(wire.replay_reply(at), 202, resource=f"replay:{at.id}")
