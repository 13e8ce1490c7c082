"""Fixtures for the whole suite: they are the public ones."""

from __future__ import annotations

pytest_plugins = ["steadhold.testing.fixtures"]
