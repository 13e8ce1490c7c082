"""The door of people, the dashboard at `/ui`: where it stands, and opened when it is first asked for."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from typing import Final

from steadhold.server.engine import Engine
from steadhold.server.lazy import LazyApp
from steadhold.server.settings import Settings
from steadhold.web.ask import Problem, Route

PATH: Final = "/ui"


@functools.cache
def there() -> bool:
    """Whether what it needs is installed; it is not loaded for that."""
    return importlib.util.find_spec("jinja2") is not None


def here(settings: Settings, path: str, root: str, host: str) -> bool:
    """Whether an address is one of the dashboard's.

    Mounted inside another application it shares an origin with that one's pages, so it is off there unless it has a
    host name of its own; with one, it answers to no other name.
    """
    if path != PATH and not path.startswith(PATH + "/"):
        return False
    wanted = settings.dashboard_host.lower()
    return settings.dashboard and (host == wanted if wanted else not root)


class People(LazyApp):
    """Stands where the dashboard will be."""

    module, name = "steadhold.dashboard.front", "Front"
    needed = ("jinja2", "markupsafe")
    absent = Problem("not_found", "This server has no dashboard: install steadhold with its extra `server`.")

    def __init__(self, engine: Engine, routes: Sequence[Route], settings: Settings) -> None:
        super().__init__(routes, engine.doors, engine.keyring, settings.public_url)
