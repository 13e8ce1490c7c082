"""What a test of coordination needs: databases, a movable clock, probes, a race explorer."""

from __future__ import annotations

from steadhold.testing.probe import Moment, Probe

__all__ = ["Moment", "Probe"]
