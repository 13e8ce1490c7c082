"""Where a server is, and whose proxies stand before it."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.address import DEFAULT_URL, address
from steadhold.sdk.errors import Unreachable


def test_the_environment_says_where_and_as_whom(monkeypatch, url, tcp):
    monkeypatch.setenv("STEADHOLD_URL", url)
    monkeypatch.setenv("STEADHOLD_API_KEY", "sh_env")
    with Client() as client:
        assert client.state.get("a").value == 1
        assert client.url == url
    _, _, headers = tcp.seen[0]
    assert headers["authorization"] == "Bearer sh_env"
    assert headers["user-agent"].startswith("steadhold-python/")
    assert headers["accept-encoding"] == "identity"


def test_without_an_address_it_is_the_default_port_of_this_machine(monkeypatch):
    monkeypatch.delenv("STEADHOLD_URL", raising=False)
    assert address(None, "sh_x").base == DEFAULT_URL


def test_without_a_key_it_says_how_to_get_one(monkeypatch):
    monkeypatch.delenv("STEADHOLD_API_KEY", raising=False)
    with pytest.raises(ValueError, match="STEADHOLD_API_KEY"):
        Client(DEFAULT_URL)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8750", "ftp://a", "http://", "http://a?b=c", "unix:relative", "http://u:p@h", "http://a:b",
        "http://a:87500", "http://a:0", "http://[", "http://a b", "http://a\nb", "http://a:1\x00",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match="write"):
        Client(url, "sh_x")


def test_a_key_with_a_line_break_inside_is_refused():
    with pytest.raises(ValueError, match="characters"):
        Client(DEFAULT_URL, "sh_a\nsh_b")


def test_the_key_is_shown_nowhere():
    client = Client(DEFAULT_URL, "sh_secret")
    assert "sh_secret" not in repr(client) + repr(client._address)


@pytest.mark.parametrize(
    "url, loopback",
    [
        ("http://127.0.0.1:1", True), ("http://127.9.9.9", True), ("http://[::1]:1", True), ("http://localhost", True),
        ("unix:/a/b", True), ("unix:///a/b", True), ("http://10.0.0.1", False), ("https://example.org", False),
    ],
)  # fmt: skip
def test_loopback_is_known(url, loopback):
    assert address(url, "sh_x").loopback is loopback


def test_no_proxy_of_the_environment_stands_before_loopback(monkeypatch, url):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with Client(url, "sh_x") as client:
        assert client.state.get("a").value == 1


def test_a_proxy_of_the_environment_stands_before_others(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with Client("http://steadhold.invalid", "sh_x", give_up_seconds=0) as client, pytest.raises(Unreachable):
        client.state.get("a")


def test_a_unix_socket(unix):
    with Client(f"unix:{unix.server_address}", "sh_x") as client:
        assert client.state.get("a").value == 1
        assert client.url == f"unix:{unix.server_address}"


def test_a_unix_socket_is_awaited(unix):
    async def read():
        async with AsyncClient(f"unix:{unix.server_address}", "sh_x") as client:
            return (await client.state.get("a")).value

    assert asyncio.run(read()) == 1


def test_an_operator_names_the_workspace(url, tcp):
    with Client(url, "sh_x", workspace="acme") as client:
        client.state.get("a")
        client.state.get("a", revision=1)
    assert [path for _, path, _ in tcp.seen] == ["/v1/state/a?workspace=acme", "/v1/state/a?revision=1&workspace=acme"]


def test_an_address_may_have_a_path(url, tcp):
    with Client(f"{url}/hold/", "sh_x") as client:
        client.state.get("a")
    assert tcp.seen[0][1] == "/hold/v1/state/a"
