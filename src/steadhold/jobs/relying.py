"""jobs: what they rely on in context: their inputs and results while they are there, stages while their line is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from steadhold import context
from steadhold.jobs import moving
from steadhold.jobs.model import Complete, Settlement
from steadhold.jobs.moving import SQL
from steadhold.kit.plan import Plan, rows


class Given(Protocol):
    """What a job is given: its own input, and others."""

    @property
    def input_ref(self) -> str | None: ...

    @property
    def inputs(self) -> Sequence[str]: ...


def given(job: Given) -> list[str]:
    """The references that a job is given."""
    return [*([] if job.input_ref is None else [job.input_ref]), *job.inputs]


def said(settlement: Settlement) -> str:
    """The reference that is said to be a result, or "" which names nothing."""
    what = settlement.said
    return what.result_ref or "" if isinstance(what, Complete) else ""


def of_line(root: str) -> str:
    """Who relies on the stages of a line of jobs, as it is called there."""
    return f"{moving.subject(root)}/stages"


def again(workspace: str, id: str, new_id: str) -> Plan[None]:
    """Rely for a retry on what the job before it was given and still has."""
    input_ref, inputs = (yield from rows(SQL.given, workspace=workspace, id=id))[0]
    texts: list[str] = [*([] if input_ref is None else [input_ref]), *msgspec.json.decode(inputs or b"[]")]
    finds = yield from context.find(workspace, texts)
    yield from context.pin_found(workspace, finds, [(moving.subject(new_id), text) for text in finds])


def no_more(workspace: str, ids: Iterable[str], roots: Sequence[str]) -> Plan[None]:
    """Let go of what jobs that were removed relied on, and of what the stages of these lines did."""
    yield from context.unpin_owners(workspace, [*map(moving.subject, ids), *map(of_line, roots)])
