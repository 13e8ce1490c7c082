"""Refusals that several rooms share and none owns."""

from __future__ import annotations

from dataclasses import dataclass

from steadhold.kit.plan import Refusal


@dataclass(frozen=True, slots=True)
class StaleFence(Refusal):
    """A grant that the write relies on is missing, ended or another's (409 ``stale_fence``)."""

    subject: str


@dataclass(frozen=True, slots=True)
class RevisionConflict(Refusal):
    """The condition named another revision than the current one (412). None: there is none now."""

    current: int | None


@dataclass(frozen=True, slots=True)
class Missing(Refusal):
    """There is nothing of this name (404); ``last_revision`` is what it had before it was deleted."""

    last_revision: int | None = None
