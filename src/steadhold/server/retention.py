"""What must outlive what: the orders between retention windows, tested when the server starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from steadhold.server.settings import Retention

RETRIES_SECONDS: Final = 86_400
"""The SDK repeats a request under one operation id for at most this long."""


@dataclass(frozen=True, slots=True)
class Order:
    """`longer` is kept at least as long as `shorter`, which is a sum of windows."""

    longer: str
    shorter: tuple[str, ...]
    why: str


ORDERS: Final = (
    Order("receipts_seconds", ("client_retries_seconds",), "a retry must find the receipt of the first try"),
    Order("jobs_seconds", ("receipts_seconds",), "a receipt must name no job that is gone"),
    Order("deliveries_seconds", ("receipts_seconds",), "a receipt must name no delivery that is gone"),
    Order("schedule_runs_seconds", ("jobs_seconds",), "a job must not outlive the run that it is of"),
    Order("inbox_keys_seconds", ("events_seconds", "deliveries_seconds"), "what is replayed must meet its key"),
)


class OrderBroken(ValueError):
    """Two retention windows contradict each other."""


def seconds(retention: Retention, name: str) -> int:
    """One window, or the limit of another place that windows are measured against."""
    return RETRIES_SECONDS if name == "client_retries_seconds" else getattr(retention, name)


def check(retention: Retention) -> None:
    """Refuse windows that break an order; the message has both numbers."""
    for order in ORDERS:
        have, need = seconds(retention, order.longer), sum(seconds(retention, name) for name in order.shorter)
        if have < need:
            raise OrderBroken(
                f"retention.{order.longer} is {have}, and {' + '.join(order.shorter)} is {need}: "
                f"{order.why}. Raise the first to at least {need}, or lower the second."
            )
