"""effects: what bounds say is done, workspace by workspace."""

from __future__ import annotations

from typing import Final

from steadhold.effects import plans
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call


def time(workspace: str, limit: int) -> Call[int]:
    """Abandon what was not begun, stop expecting answers, have people look, and remind them each day."""
    return plans.pass_time.call(workspace, limit)


DUTIES: Final = (Duty("effects.time", time, touches=(("effects",),)),)
