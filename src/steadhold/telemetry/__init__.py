"""What is told of what happens: spans, metrics, log lines. See guide.md."""

from __future__ import annotations

from steadhold.telemetry.spans import caused, current

__all__ = ["caused", "current"]
