"""webhooks: at least once, signed, replayable, honest."""

from __future__ import annotations

from steadhold.webhooks.delivering import fan_out

__all__ = ["fan_out"]
