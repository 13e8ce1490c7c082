"""How far tests go that go by chance: a quarter of the way, and all of it where there is time.

There is time in `make soak`, and where a law's fault is to be seen.
"""

from __future__ import annotations

import os

FAR, FEW = "STEADHOLD_TEST_FAR", 10


def of(examples):
    """How many of these examples are tried now."""
    return examples if os.environ.get(FAR) else max(examples // 4, min(examples, FEW))
