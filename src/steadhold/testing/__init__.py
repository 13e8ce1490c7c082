"""What a test of coordination needs: databases, a movable clock, probes, a race explorer."""

from __future__ import annotations

from steadhold.testing.clock import Clock
from steadhold.testing.database import Database
from steadhold.testing.explorer import Explored, explore
from steadhold.testing.probe import Moment, Probe
from steadhold.testing.scene import Scene, Stage, Violation
from steadhold.testing.schedule import Incomplete

__all__ = ["Clock", "Database", "Explored", "Incomplete", "Moment", "Probe", "Scene", "Stage", "Violation", "explore"]
