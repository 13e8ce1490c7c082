"""An example's modules find each other as they do when it is run: by its own folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "folder_report"))
