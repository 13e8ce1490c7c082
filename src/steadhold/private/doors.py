"""private over HTTP: the same three doors for each room that keeps names, and what its writes answer."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from steadhold.access.authenticate import actor
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.page import page
from steadhold.kit.sealed import MEDIA_TYPE, Kind
from steadhold.private import model, plans
from steadhold.private.model import (
    EnvelopeMismatch,
    NotPrivate,
    PlaintextPresent,
    PlaintextRefused,
    Prefix,
    RewrapNeeded,
)
from steadhold.web import conditions, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Request, Route
from steadhold.web.reply import Instant

PROBLEMS = ("plaintext_refused", "envelope_mismatch", "not_private")
"""What a write may answer because of private prefixes."""


class PrefixItem(msgspec.Struct, kw_only=True, frozen=True):
    """A private prefix."""

    prefix: str
    revision: int
    made_at: Instant


def doors(kind: Kind, readable: plans.Readable) -> tuple[Route, ...]:
    """The routes of one kind. `readable` names the first names under a prefix that hold what can be read."""
    path, name = f"/v1/private-prefixes/{kind}/{{prefix:path}}", "prefix"
    read, configure = f"{kind}:read", f"{kind}:configure"

    def make(ask: Request) -> Ask[Any]:
        """Store nothing but envelopes under a prefix; If-None-Match: * says that it was not so yet."""
        prefix, _absent = query.path(ask, name), conditions.put(ask)
        return Ask(plans.make.call(ask.workspace, kind, prefix, readable, by=actor(ask)), _made)

    def get(ask: Request) -> Ask[Any]:
        """Whether a prefix is private, and since when."""
        return Ask(plans.get.call(ask.workspace, kind, query.path(ask, name)), _shown)

    def lift(ask: Request) -> Ask[Any]:
        """Let anything be stored under a prefix again."""
        prefix, revision = query.path(ask, name), conditions.exact_match(ask)
        return Ask(plans.lift.call(ask.workspace, kind, prefix, revision, by=actor(ask)), _lifted)

    def listing(ask: Request) -> Ask[list[Prefix]]:
        """The private prefixes, in byte order."""
        most, after = query.limit(ask), query.cursor(ask, f"private.{kind}", str)

        def render(found: list[Prefix]) -> Answer:
            return reply.listing(ask, page(found, most, f"private.{kind}", lambda one: (one.prefix,)), _item)

        return Ask(plans.prefixes.call(ask.workspace, kind, after[0] if after else "", most + 1), render)

    return (
        Route(
            "GET", f"/v1/private-prefixes/{kind}", listing, read, "List private prefixes", query=("limit", "cursor"),
            gives=PrefixItem,
        ),
        Route("GET", path, get, read, "Show a private prefix", scoped=name, gives=PrefixItem),
        Route(
            "PUT", path, make, configure, "Make a prefix private", scoped=name, headers=("if-none-match",),
            receipt="optional", status=201, gives=PrefixItem,
            problems=("plaintext_present", "condition_required", "condition_inexact"),
        ),
        Route(
            "DELETE", path, lift, configure, "Lift a private prefix", scoped=name, headers=("if-match",),
            receipt="optional", status=204, problems=("condition_required", "condition_inexact", "condition_false"),
        ),
    )  # fmt: skip


def _item(found: Prefix) -> PrefixItem:
    return PrefixItem(prefix=found.prefix, revision=found.revision, made_at=reply.instant(found.made_at))


def _made(outcome: model.MakeOutcome) -> Answer:
    match outcome:
        case Prefix():
            return reply.json(_item(outcome), 201 if outcome.made else 200, revision=outcome.revision)
        case PlaintextPresent(names):
            why = "Names under this prefix hold what can be read: delete them, then write them sealed."
            return Problem("plaintext_present", why, {"names": list(names)})
        case RevisionConflict():
            return problem.refused(outcome)
        case _:
            assert_never(outcome)


def _shown(outcome: Prefix | Missing) -> Answer:
    if isinstance(outcome, Missing):
        return problem.MISSING
    return reply.json(_item(outcome), revision=outcome.revision)


def _lifted(outcome: model.LiftOutcome) -> Answer:
    return reply.no_content(outcome.revision) if isinstance(outcome, Prefix) else problem.refused(outcome)


def refused(outcome: model.SealRefusal | RewrapNeeded) -> Problem:
    """Say why a write stored nothing."""
    match outcome:
        case PlaintextRefused(why):
            return Problem("plaintext_refused", f"{why} Seal it, and send it as {MEDIA_TYPE}.")
        case EnvelopeMismatch(next_revision):
            why = "The envelope is bound to another place or revision than this write makes; seal it anew."
            return Problem("envelope_mismatch", why, {"next_revision": next_revision})
        case NotPrivate():
            return Problem("not_private", "No private prefix covers this name, so it takes no envelope.")
        case RewrapNeeded():
            why = (
                "An envelope is bound to its name and revision: open it, seal it for the new name, and delete this one."
            )
            return Problem("rewrap_needed", why)
        case _:
            assert_never(outcome)
