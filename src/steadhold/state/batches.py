"""state: a batch between its wire shape and the room's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec
from msgspec import UNSET

from steadhold import private
from steadhold.kit import exact, limits, paths
from steadhold.kit.sealed import OPENING
from steadhold.private import doors
from steadhold.state import model
from steadhold.state.wire import DeleteItem, GetItem, Outcome, PutItem
from steadhold.web import problem


def puts_and_gets(items: Sequence[GetItem | PutItem | DeleteItem]) -> list[model.Put | model.Get]:
    """Check the items of a batch; the first that cannot be read stops the request with its pointer."""
    if not 1 <= len(items) <= limits.BATCH_ITEMS_MAX:
        problem.stop("bad_member", f"A batch takes 1 to {limits.BATCH_ITEMS_MAX} items.", pointer="/items")
    return [_item(at, item) for at, item in enumerate(items)]


def _item(at: int, item: GetItem | PutItem | DeleteItem) -> model.Put | model.Get:
    if fault := paths.path_fault(item.name):
        problem.stop("bad_name", fault, pointer=f"/items/{at}/name")
    match item:
        case GetItem():
            return model.Get(item.name)
        case DeleteItem():
            return model.Put(item.name, None, item.if_match)
        case PutItem():
            return _put(at, item)
        case _:
            assert_never(item)


def _put(at: int, item: PutItem) -> model.Put:
    if (item.if_match is None) == (item.if_none_match is None):
        problem.stop(
            "condition_required", "A put takes exactly one of if_match and if_none_match.", pointer=f"/items/{at}"
        )
    if (item.value is UNSET) == (item.sealed is None):
        problem.stop("bad_member", "A put takes exactly one of value and sealed.", pointer=f"/items/{at}")
    body = _sealed(at, item.sealed) if item.value is UNSET else _value(at, bytes(item.value))
    return model.Put(item.name, body, item.if_match)


def _value(at: int, body: bytes) -> bytes:
    if len(body) > limits.STATE_BYTES_MAX:
        problem.stop("too_large", f"A value takes up to {limits.STATE_BYTES_MAX} bytes.", pointer=f"/items/{at}/value")
    if fault := exact.check(body):
        problem.stop("bad_json", fault.why, pointer=f"/items/{at}/value", position=fault.position)
    return body


def _sealed(at: int, text: str | None) -> bytes:
    body = (text or "").encode()
    if fault := model.body_fault(body) if body.startswith(OPENING) else "This is no envelope.":
        problem.stop("plaintext_refused", fault, pointer=f"/items/{at}/sealed")
    return body


def outcomes_of(
    items: Sequence[model.Put | model.Get], found: Sequence[model.WriteOutcome | model.Stored]
) -> list[Outcome]:
    """Say what each item came to, by the status and code of its own route."""
    return [_outcome(item, came) for item, came in zip(items, found, strict=True)]


def _outcome(item: model.Put | model.Get, came: model.WriteOutcome | model.Stored) -> Outcome:
    name = item.name
    match came:
        case model.Stored(revision, body) if body.startswith(OPENING):
            return Outcome(name=name, status=200, revision=revision, sealed=body.decode("ascii"))
        case model.Stored(revision, body):
            return Outcome(name=name, status=200, revision=revision, value=msgspec.Raw(body))
        case model.Written(revision, _, created):
            return Outcome(name=name, status=201 if created else 200, revision=revision)
        case model.RevisionConflict(current):
            return Outcome(name=name, status=412, code="condition_false", current_revision=current)
        case model.Missing(last) if isinstance(item, model.Put) and item.body is not None:
            return Outcome(name=name, status=412, code="condition_false", last_revision=last)
        case model.Missing(last):
            return Outcome(name=name, status=404, code="not_found", last_revision=last)
        case model.StaleFence():
            return Outcome(name=name, status=409, code="stale_fence")
        case model.StorageExhausted():
            return Outcome(name=name, status=507, code="storage_exhausted")
        case private.EnvelopeMismatch() | private.PlaintextRefused() | private.NotPrivate():
            return _unsealed(name, came)
        case _:
            assert_never(came)


def _unsealed(name: str, came: private.SealRefusal) -> Outcome:
    revision = came.next_revision if isinstance(came, private.EnvelopeMismatch) else None
    return Outcome(name=name, status=422, code=doors.refused(came).code, next_revision=revision)
