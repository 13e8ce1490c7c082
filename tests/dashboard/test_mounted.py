"""Where the dashboard answers: mounted inside another application it is off, but under a host name of its own."""

from __future__ import annotations

import msgspec
import pytest

from steadhold.server.app import App
from tests.dashboard.seats import Seat


@pytest.fixture
async def app_with(settings):
    made = []

    async def start(**changes):
        made.append(App(msgspec.structs.replace(settings, **changes)))
        await made[-1].start()
        return made[-1]

    yield start
    for app in made:
        await app.stop()


def answered(page):
    """Whether it is the dashboard that answered."""
    return "content-security-policy" in page.headers and page.status in {200, 303}


async def test_mounted_it_is_off(app_with):
    """There it would share an origin with the pages of a stranger, whose scripts could press its buttons."""
    app = await app_with()
    assert answered(await Seat(app).get("/login"))
    mounted = Seat(app, root="/steadhold")
    for path in ("", "/login", "/static/style.css"):
        assert (await mounted.get(path)).status == 404


async def test_mounted_it_answers_to_a_host_name_of_its_own(app_with, owner):
    app = await app_with(dashboard_host="desk.example")
    seat = Seat(app, root="/steadhold", host="desk.example:8750")
    page = await seat.send("/login", {"key": owner, "next": "/steadhold/ui/keys"}, origin="http://desk.example:8750")
    assert (page.status, page.location) == (303, "/steadhold/ui/keys")
    assert "; Path=/steadhold/ui;" in page.cookies[0]
    page = await seat.get("/keys")
    assert 'href="/steadhold/ui/keys:new"' in page.text
    for host in ("app.example", "desk.example.evil", ""):
        assert (await Seat(app, root="/steadhold", host=host).get("/login")).status == 404
        assert (await Seat(app, host=host).get("/login")).status == 404


async def test_the_path_of_a_mount_may_be_any(app_with, owner):
    seat = Seat(await app_with(dashboard_host="desk"), root="/h\u00f6he", host="desk")
    page = await seat.send("/login", {"key": owner, "next": "/h%C3%B6he/ui/keys"}, origin="http://desk")
    assert page.location == "/h%C3%B6he/ui/keys"
    assert 'href="/h%C3%B6he/ui/keys:new"' in (await seat.get("/keys")).text


async def test_it_can_be_switched_off(app_with):
    app = await app_with(dashboard=False)
    assert (await Seat(app).get("/login")).status == 404


async def test_beside_it_nothing_is_hidden(app_with):
    page = await Seat(await app_with()).client("GET", "/uix")
    assert page.status == 404
