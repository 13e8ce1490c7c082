"""An example's modules find each other as they do when it is run: by its own folder."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path[:0] = [str(EXAMPLES / name) for name in ("folder_report", "nightly_report", "guarded_finish", "orders")]
