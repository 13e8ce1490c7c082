"""webhooks: what nobody tells of is unknown, replays go on, what is disabled is skipped, what is old goes."""

from __future__ import annotations

from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.webhooks import delivering, replaying, sweeping
from steadhold.webhooks.replaying import KEPT_SECONDS


def attempts(workspace: str, limit: int) -> Call[int]:
    """End attempts whose sender was not heard of."""
    return delivering.lapse.call(workspace, limit)


def replays(workspace: str, limit: int) -> Call[int]:
    """Carry replays on."""
    return replaying.replay_on.call(workspace, limit)


def blocked(workspace: str, limit: int) -> Call[int]:
    """Announce lanes that wait for an operator."""
    return replaying.announce.call(workspace, limit)


def skipped(workspace: str, limit: int) -> Call[int]:
    """End what is pending for endpoints that are disabled."""
    return replaying.skip.call(workspace, limit)


def duties(kept_seconds: float) -> tuple[Duty, ...]:
    """What runs in the background where deliveries are kept this long."""

    def purge(workspace: str, limit: int) -> Call[int]:
        return replaying.purge.call(workspace, limit, kept_seconds=kept_seconds)

    def late(workspace: str, limit: int) -> Call[int]:
        return sweeping.give_up.call(workspace, limit, kept_seconds=kept_seconds)

    return (
        Duty("webhooks.attempts", attempts, limit=200),
        Duty("webhooks.replays", replays, limit=500),
        Duty("webhooks.blocked", blocked, limit=100),
        Duty("webhooks.skipped", skipped, limit=500),
        Duty("webhooks.late", late, limit=200, every_seconds=30.0),
        Duty("webhooks.purge", purge, limit=500, every_seconds=30.0),
    )


DUTIES = duties(KEPT_SECONDS)
