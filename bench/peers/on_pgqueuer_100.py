"""pgqueuer held to 100 jobs at once, as the others are. (It wants at least twice as many of them as a batch has.)"""

from __future__ import annotations

import os

os.environ["PGQUEUER_AT_ONCE"] = "100"

import on_pgqueuer  # noqa: F401 - it runs by being imported
