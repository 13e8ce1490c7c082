"""The Python SDK: one grammar of requests, a client that answers and one that is awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steadhold.sdk.client import AsyncClient, Client
    from steadhold.sdk.errors import OutcomeUnknown, Problem, SteadholdError, Unreachable
    from steadhold.sdk.webhook import NotVerified, Webhook

__all__ = [
    "AsyncClient",
    "Client",
    "NotVerified",
    "OutcomeUnknown",
    "Problem",
    "SteadholdError",
    "Unreachable",
    "Webhook",
]


def __getattr__(name: str) -> Any:
    """Load a client, or an error, when it is first asked for: the errors alone bring no HTTP with them."""
    from importlib import import_module

    if name in {"AsyncClient", "Client"}:
        return getattr(import_module("steadhold.sdk.client"), name)
    if name in {"NotVerified", "Webhook"}:
        return getattr(import_module("steadhold.sdk.webhook"), name)
    if name in __all__:
        return getattr(import_module("steadhold.sdk.errors"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
