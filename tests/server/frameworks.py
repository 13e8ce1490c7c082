"""Applications of the frameworks, each with a page of its own and with a server mounted at `/steadhold`."""

from __future__ import annotations

import asyncio
import sys
import types
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

OWN = "a page of the application's own"


def fastapi(house, **more):
    from fastapi import FastAPI

    app = FastAPI(lifespan=house.lifespan, **more)
    app.get("/own", response_class=PlainTextResponse)(lambda: OWN)
    app.mount("/steadhold", house)
    return app


def starlette(house):
    own = Route("/own", lambda _: PlainTextResponse(OWN))
    return Starlette(routes=[own, Mount("/steadhold", house)], lifespan=house.lifespan)


def nested(house):
    """Mounted in what is mounted."""
    inner = Starlette(routes=[Mount("/steadhold", house)])
    own = Route("/own", lambda _: PlainTextResponse(OWN))
    return Starlette(routes=[own, Mount("/deep/caf\u00e9", inner)], lifespan=house.lifespan)


def litestar(house):
    from litestar import Litestar, MediaType, asgi, get

    @get("/own", media_type=MediaType.TEXT, sync_to_thread=False)
    def own() -> str:
        return OWN

    mount = asgi("/steadhold", is_mount=True, copy_scope=True)
    # Its logging as it comes sets up the root logger, for every test that follows in this process.
    return Litestar([own, mount(house)], lifespan=[house.lifespan], logging_config=None)


def django(house):
    from django.core.asgi import get_asgi_application

    configured()
    routes = [Mount("/steadhold", house), Mount("/", get_asgi_application())]
    return Starlette(routes=routes, lifespan=house.lifespan)


def configured() -> None:
    """Django as the other tests have it, with a page besides."""
    import django as package
    from django.conf import settings
    from django.http import HttpResponse
    from django.urls import path

    if not settings.configured:
        default = {"ENGINE": "django.db.backends.postgresql", "NAME": "none"}
        settings.configure(DATABASES={"default": default}, USE_TZ=True)
        package.setup()
    urls: Any = types.ModuleType("tests_mounted_urls")
    urls.urlpatterns = [path("own", lambda _: HttpResponse(OWN, content_type="text/plain"))]
    sys.modules[urls.__name__] = urls
    settings.ROOT_URLCONF, settings.ALLOWED_HOSTS, settings.SECRET_KEY = urls.__name__, ["*"], "x" * 50


FRAMEWORKS = {"fastapi": fastapi, "starlette": starlette, "nested": nested, "litestar": litestar, "django": django}
WHERE = dict.fromkeys(FRAMEWORKS, "/steadhold") | {"nested": "/deep/caf%C3%A9/steadhold"}


@asynccontextmanager
async def living(app):
    """The application between its beginning and its end, as a server lives it."""
    came: asyncio.Queue[Any] = asyncio.Queue()
    told: asyncio.Queue[Any] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    task = asyncio.ensure_future(app(scope, came.get, told.put))
    await came.put({"type": "lifespan.startup"})
    assert (await told.get())["type"] == "lifespan.startup.complete"
    try:
        yield app
    finally:
        await came.put({"type": "lifespan.shutdown"})
        assert (await told.get())["type"] == "lifespan.shutdown.complete"
        await task
