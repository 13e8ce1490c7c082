"""The login: what is asked before a page is shown, and what ends a session."""

from __future__ import annotations

from tests.dashboard.seats import Seat


async def test_without_a_session_there_is_only_the_login(app):
    seat = Seat(app)
    for path in ("", "/", "/keys", "/audit?kind=x", "/nowhere"):
        page = await seat.get(path)
        assert (page.status, page.body) == (303, b"")
        assert page.location.startswith("/ui/login?next=%2Fui")


async def test_a_key_opens_a_session(seat):
    page = await seat.get("/keys")
    assert page.status == 200
    assert "<h1>Keys</h1>" in page.text
