"""Conditions of a request (RFC 9110 §13), as far as they are decided before anything is read.

A write names one revision it has seen. A condition that names none, or more than one, is refused before it
is evaluated (428); one that can never be true, a weak tag or another server's, is false already (412).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from steadhold.kit import fields
from steadhold.kit.fields import AnyTag, Condition, ExactTag, ForeignTag, WeakTag
from steadhold.web import query
from steadhold.web.ask import Problem, Request, Stop, Topic, Wait
from steadhold.web.problem import stop

T = TypeVar("T")


def exact_match(ask: Request) -> int:
    """The revision that `If-Match` names; without the field 428."""
    if ask.if_none_match is not None:
        stop("condition_inexact", "Send If-Match with one revision, and no If-None-Match.")
    found = maybe_match(ask)
    if found is None:
        stop("condition_required", 'Send If-Match with the revision that you have read, such as "42".')
    return found


def maybe_match(ask: Request) -> int | None:
    """The revision that `If-Match` names, or None without the field."""
    if ask.if_match is None:
        return None
    if isinstance(ask.if_match, ExactTag):
        return ask.if_match.revision
    raise _refused("If-Match", ask.if_match)


def put(ask: Request) -> int | None:
    """What a PUT expects: a revision by `If-Match`, or None for absence by `If-None-Match: *`."""
    if ask.if_match is not None:
        if ask.if_none_match is not None:
            stop("condition_inexact", "Send one of If-Match and If-None-Match, not both.")
        return maybe_match(ask)
    if ask.if_none_match is None:
        stop("condition_required", 'Send If-Match: "N" to replace a revision, or If-None-Match: * to create.')
    if isinstance(ask.if_none_match, AnyTag):
        return None
    raise Stop(Problem("condition_inexact", "On a PUT, If-None-Match takes * alone, which means: it must not exist."))


def unchanged(ask: Request, revision: int) -> bool:
    """Whether `If-None-Match` of a reading says that the asker has this revision."""
    return fields.still_has(ask.if_none_match, revision)


def watch(ask: Request, topic: Topic, revision_of: Callable[[T], int | None]) -> Wait[T] | None:
    """How a reading waits: for a change of what `If-None-Match` names, or until an absent name is there.

    `revision_of` is the revision of an outcome, None where nothing is there.
    """
    seconds = query.wait_seconds(ask)
    if not seconds:
        return None
    absent_is_news = ask.if_none_match is not None

    def ready(outcome: T) -> bool:
        revision = revision_of(outcome)
        return absent_is_news if revision is None else not unchanged(ask, revision)

    return Wait(seconds, topic, ready)


def _refused(name: str, condition: Condition) -> Stop:
    match condition:
        case WeakTag(text):
            why = f"{text} is a weak tag, which never matches; something on the way has weakened it."
            return Stop(Problem("condition_false", f"{name}: {why}"))
        case ForeignTag(text):
            why = f'{text} is no tag of this server; its tags are revisions, such as "42".'
            return Stop(Problem("condition_false", f"{name}: {why}"))
        case _:
            return Stop(Problem("condition_inexact", f'{name} must name one revision, such as "42": no *, no list.'))
