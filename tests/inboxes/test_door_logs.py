"""Whatever goes wrong with a request to a door, its address stands in no log."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from steadhold.inboxes.door_keeper import token_of
from steadhold.server.exchange import Exchange


async def unanswered(_exchange):
    pass


async def cut_off(_exchange):
    raise asyncio.CancelledError


async def failing(_exchange):
    raise ZeroDivisionError


@pytest.mark.parametrize("serve", [unanswered, cut_off, failing])
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/v1/in/" + token_of("a" * 43), "/v1/in/*"),
        ("/%76%31/%69n/" + token_of("a" * 43), "/v1/in/*"),
        ("/v1/state/a", "/v1/state/*"),
        ("/v1/state%2Fa/b", "/v1/state/*"),
        ("/v1/jobs", "/v1/jobs"),
    ],
)
async def test_its_address_stands_in_no_log(serve, address, told, caplog):
    transport = SimpleNamespace(is_closing=lambda: False)
    carrier = SimpleNamespace(
        out=SimpleNamespace(transport=transport, full=None, say=lambda _whole: None),
        want_more=lambda: None,
        answered=lambda: None,
        end=lambda: None,
        opening=lambda status: b"HTTP/1.1 %d\r\n" % status,
    )
    try:
        await Exchange(carrier, "POST", address.encode(), b"", []).run(serve)
    except asyncio.CancelledError:
        assert serve is cut_off
    (line,) = caplog.records
    assert token_of("a" * 43) not in line.getMessage() + str(line.steadhold)
    assert line.steadhold.get("path", told) == told
