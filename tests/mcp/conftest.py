from __future__ import annotations

from tests.sdk.site import key, site

__all__ = ["key", "site"]
