"""Fixtures of what agent frameworks keep in steadhold."""

from __future__ import annotations

from tests.sdk.site import key, site  # noqa: F401 - fixtures
