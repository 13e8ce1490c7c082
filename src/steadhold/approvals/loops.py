"""approvals: what time has decided is written down, workspace by workspace."""

from __future__ import annotations

from typing import Final

from steadhold.approvals import plans
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call


def time(workspace: str, limit: int) -> Call[int]:
    """Announce what will expire soon; write down what expired, and which grants lapsed."""
    return plans.pass_time.call(workspace, limit)


DUTIES: Final = (Duty("approvals.time", time),)
