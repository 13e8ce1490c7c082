"""access: what runs in the background."""

from __future__ import annotations

from steadhold.access import plans
from steadhold.kit.duty import Duty

DUTIES: tuple[Duty, ...] = (
    Duty("access.keys", plans.end_keys.call),
    Duty("access.recount", lambda workspace, _limit: plans.recount.call(workspace)),
)
