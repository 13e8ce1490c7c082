"""steadhold: durable coordination on PostgreSQL.

`Client` and `AsyncClient` talk to a server; `asgi` is one, to be mounted in an application. The rooms (`state`, `jobs`,
`operations`, …) are for your own transactions: `from steadhold import state`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steadhold.sdk.client import AsyncClient, Client
    from steadhold.sdk.errors import OutcomeUnknown, Problem, SteadholdError, Unreachable
    from steadhold.sdk.webhook import NotVerified, Webhook
    from steadhold.server.app import asgi

    __version__: str

__all__ = [
    "AsyncClient",
    "Client",
    "NotVerified",
    "OutcomeUnknown",
    "Problem",
    "SteadholdError",
    "Unreachable",
    "Webhook",
    "__version__",
    "asgi",
]


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first asked for, so that importing the package costs nothing."""
    if name == "__version__":
        return _version("steadhold")
    if name == "asgi":
        return _server().asgi
    if name in __all__:
        return getattr(import_module("steadhold.sdk"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _server() -> Any:
    try:
        return import_module("steadhold.server.app")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"steadhold.asgi needs {error.name}, which is missing: pip install 'steadhold[server]'", name=error.name
        ) from error
