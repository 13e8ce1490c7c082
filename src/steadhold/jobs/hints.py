"""How processes tell one another over PostgreSQL that jobs of a type became claimable: the channel and what is said.

A hint that is lost costs a poll, never a job.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

CHANNEL: Final = "steadhold_jobs"

TELL: Final = (  # a hint need not survive, so its commit waits for no disk
    "select set_config('synchronous_commit', 'off', true), pg_notify($1, payload) from unnest($2::text[]) as payload"
)
"""Tells the channel $1 the payloads $2; to be executed after the commit, outside of any transaction of a user's."""


def payloads(told: Iterable[tuple[str, str]]) -> list[str]:
    """What is sent for these (workspace, type of jobs), each once."""
    return [f"{workspace} {type}" for workspace, type in dict.fromkeys(told)]


def heard(payload: object) -> tuple[str, str]:
    """The (workspace, type of jobs) that a payload tells of. Names hold no blank."""
    workspace, _, type = str(payload).partition(" ")
    return workspace, type
