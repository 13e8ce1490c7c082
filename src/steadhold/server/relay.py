"""The relay of this server: which targets and takers it knows, which the rooms above events bring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from steadhold import inboxes, webhooks
from steadhold.events.flow import Inside, Taker, Target
from steadhold.events.loops import Relay
from steadhold.events.publishing import Alarm, silent
from steadhold.kit import ids
from steadhold.kit.plan import Call
from steadhold.server.loops import Act
from steadhold.telemetry.subscriber import Subscriber
from steadhold.web.hub import Hub

TAKERS: Final[tuple[Taker, ...]] = (webhooks.fan_out,)
"""Who else is given what was matched."""

MATCH: Final = "events.match"
PUBLISH: Final = "events.publish"
"""What `steadhold.due()` says where something is to be matched, or to be published."""

LINGER_SECONDS: Final = 0.05
"""How often the relay looks again where something happened just now."""


def relay(
    play: Callable[[Call[Any]], Awaitable[Any]], hub: Hub, sinks: Target, told_of: Subscriber, alarm: Alarm = silent,
    then: Callable[[], Awaitable[Any]] | None = None,
) -> Relay:  # fmt: skip
    """The relay of a server; whoever reads of a target it was given something for is told by `hub`."""

    def told(workspace: str, target: str) -> None:
        kind, _, name = target.partition(":")
        hub.touch((workspace, kind, name))

    targets: Mapping[str, Target] = {"inbox": Inside(told_of.appending(inboxes.publish)), "sink": sinks}
    takers = [told_of.taking(take) for take in TAKERS]
    return Relay(
        told_of.playing(play), targets, name=f"relay-{ids.new_id()}", takers=takers, told=told, alarm=alarm, then=then
    )


def noting(of: Relay, then: Callable[[tuple[str, ...]], None]) -> Callable[[tuple[str, ...]], None]:
    """Let it hear of what is touched, beside whoever heard of it before."""

    def tell(key: tuple[str, ...]) -> None:
        of.note(key[0])
        then(key)

    return tell


def acts(of: Relay) -> Mapping[str, Act]:
    """What it does in several transactions where that is due: by the name of its duty."""
    return {MATCH: of.matching, PUBLISH: of.publish}
