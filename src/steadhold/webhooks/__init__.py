"""webhooks: at least once, signed, replayable, honest."""

from __future__ import annotations

from steadhold.webhooks.delivering import fan_out
from steadhold.webhooks.receiving import dedupe

__all__ = ["dedupe", "fan_out"]
