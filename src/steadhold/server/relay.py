"""The relay of this server: which targets and takers it knows, which the rooms above events bring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from steadhold import inboxes
from steadhold.events.flow import Inside, Taker, Target
from steadhold.events.loops import Relay, matching
from steadhold.kit import ids
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call

TARGETS: Final[Mapping[str, Target]] = {"inbox": Inside(inboxes.publish)}
"""Where subscriptions may lead, by kind."""

TAKERS: Final[tuple[Taker, ...]] = ()
"""Who else is given what was matched."""

PUBLISH: Final = "events.publish"
"""What `steadhold.due()` says where something is to be published."""


def duty() -> Duty:
    """Match events with subscriptions, and give them to the takers."""
    return matching(TAKERS)


def acts(
    play: Callable[[Call[Any]], Awaitable[Any]], targets: Mapping[str, Target] = TARGETS
) -> Mapping[str, Callable[[str], Awaitable[int]]]:
    """What is done in several transactions where it is due: by the name of its duty."""
    return {PUBLISH: Relay(play, targets, name=f"relay-{ids.new_id()}").publish}


def beside(duties: Iterable[Duty]) -> tuple[Duty, ...]:
    """The duties of the rooms, and the one that has to know them all."""
    return (*duties, duty())
