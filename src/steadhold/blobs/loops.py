"""Bytes leave when nobody pins them."""

from __future__ import annotations

from steadhold.blobs.plans import prune
from steadhold.kit.duty import Duty

DUTIES = (Duty("blobs.prune", prune.call, limit=100, every_seconds=5.0),)
