"""Where a server is, and with which key it is asked: from arguments, or from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

DEFAULT_URL: Final = "http://127.0.0.1:8750"


class NoKey(ValueError):
    """There is no key: neither as an argument nor in the environment."""


@dataclass(frozen=True, slots=True)
class Address:
    """`base` is what targets are appended to; `socket` the path of a Unix socket, if that is where it listens."""

    base: str
    api_key: str = field(repr=False)
    socket: str | None = None
    loopback: bool = False


def address(url: str | None, api_key: str | None) -> Address:
    """Find the server: `url` or STEADHOLD_URL or the default port of this machine; the key likewise.

    Raises:
        NoKey.
        ValueError: the key or the address is none.
    """
    url = url or os.environ.get("STEADHOLD_URL") or DEFAULT_URL
    key = (api_key or os.environ.get("STEADHOLD_API_KEY") or "").strip()
    if not key:
        raise NoKey("There is no API key: pass api_key, or set STEADHOLD_API_KEY; `steadhold dev` prints one.")
    if not key.isascii() or not key.isprintable():
        raise ValueError("The API key holds characters that no key has; was more than the key copied?")
    if url.startswith("unix:"):
        return Address("http://localhost", key, _socket(url), loopback=True)
    host = _host(url)
    if host is None:
        raise ValueError(f"{url!r} is no address of a server: write http://host:port, https://host or unix:/a/socket.")
    scheme, rest = url.rstrip("/").split(":", 1)
    return Address(f"{scheme.lower()}:{rest}", key, None, _is_loopback(host))


def _host(url: str) -> str | None:
    """The host of an address; None where it is no server's."""
    try:
        parts = urlsplit(url)
        if parts.query or parts.fragment or parts.username or parts.port == 0:
            return None
    except ValueError:  # a port that is no number, or half of an IPv6 address
        return None
    plain = parts.scheme in {"http", "https"} and url.isprintable() and " " not in url
    return parts.hostname or None if plain else None


def _socket(url: str) -> str:
    path = url.removeprefix("unix:").removeprefix("//")
    if not path.startswith("/"):
        raise ValueError(f"{url!r} names no socket: write unix: and its whole path, as in unix:/run/steadhold.sock.")
    return path


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
