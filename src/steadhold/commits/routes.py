"""commits over HTTP: one request, one transaction, one receipt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET, Raw

from steadhold.commits import plans
from steadhold.commits.items import Read, placed, read, read_of
from steadhold.commits.model import APPLY, REQUIRE, CommitOutcome, Committed, Refused, RepeatedName
from steadhold.commits.wire import CommitBody, CommitReply, Done
from steadhold.kit.outcome import StaleFence
from steadhold.web import problem, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route, Topic


def commit(ask: Request) -> Ask[CommitOutcome]:
    """Apply all, if all that is required is true and stays so until the commit; or nothing."""
    items = read(ask)
    parts = {part: read_of(items, part) for part in (REQUIRE, APPLY)}
    calls = {part: [item.asked.call for item in found] for part, found in parts.items()}

    def answer(outcome: CommitOutcome, *, kept: bool) -> Answer:
        match outcome:
            case Committed(require, apply):
                done = [_done(item, came, kept=kept) for item, came in zip(items, (*require, *apply), strict=True)]
                split = len(require)
                return reply.json(CommitReply(require=done[:split], apply=done[split:]))
            case Refused(part, index, refusal):
                said = parts[part][index].asked.render(refusal)
                assert isinstance(said, Problem), f"{type(refusal).__name__} is a Refusal, so it renders a problem"
                return placed(said, part, index)
            case RepeatedName(part, index, name):
                said = Problem("repeated_name", f"{part} has an item about {name} already.", {"name": name})
                return placed(said, part, index)
            case StaleFence():
                return problem.refused(outcome)

    def remember(outcome: CommitOutcome) -> Reply:
        said = answer(outcome, kept=True)
        assert isinstance(said, Reply), "only what was committed is remembered"
        return said

    return Ask(
        plans.run.call(ask.workspace, calls[REQUIRE], calls[APPLY], ask.fences),
        lambda outcome: answer(outcome, kept=False),
        remember=remember,
        touches=tuple(dict.fromkeys(topic for item in items for topic in item.asked.touches)),
        wakes=lambda outcome: _wakes(items, outcome),
        needs=tuple(dict.fromkeys(item.needs for item in items)),
    )


def _done(item: Read, came: Any, *, kept: bool) -> Done:
    """What an item came to; `kept` where a receipt keeps it."""
    said = ((kept and item.asked.remember) or item.asked.render)(came)
    assert isinstance(said, Reply), f"{type(came).__name__} is no Refusal, so it renders a reply"
    assert not said.body or said.content_type == "application/json", f"{item.op} answers with no JSON"
    result = Raw(said.body) if said.body else UNSET
    return Done(op=item.op, status=said.status, revision=said.revision, fence=said.fence, result=result)


def _wakes(items: Sequence[Read], outcome: CommitOutcome) -> tuple[Topic, ...]:
    if not isinstance(outcome, Committed):
        return ()
    came = zip(items, (*outcome.require, *outcome.apply), strict=True)
    return tuple(topic for item, each in came if item.asked.wakes for topic in item.asked.wakes(each))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/commits",
        commit,
        "",
        "Change several things, all or nothing",
        headers=("fence",),
        receipt="required",
        body="json",
        takes=CommitBody,
        gives=CommitReply,
        problems=(
            "unknown_op", "repeated_name", "missing_scope", "not_found", "condition_false", "condition_required",
            "condition_inexact", "stale_fence", "lock_lost", "bad_name",
        ),
    ),
)  # fmt: skip
