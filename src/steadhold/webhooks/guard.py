"""Where a webhook may go: to public addresses over https, and to what the operator allows beside that.

The address that is dialled is judged, not the name. A name of which any address is refused is not dialled at all.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

URL_CHARS_MAX: Final = 2_000
HOST_CHARS_MAX: Final = 253
HTTPS_PORT: Final = 443
_PORTS: Final = {"http": 80, "https": HTTPS_PORT}

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

# IANA's special-purpose registries (RFC 6890 and what updates it). Python's own `is_global` knows fewer of them.
_REFUSED_4: Final = tuple(map(ipaddress.IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
)))  # fmt: skip
_LABEL: Final = r"[A-Za-z0-9_-]{1,63}"
_NETLOC: Final = re.compile(rf"(\[[0-9a-fA-F:.]+\]|{_LABEL}(\.{_LABEL})*\.?)(:[0-9]*)?")
_GLOBAL_6: Final = ipaddress.IPv6Network("2000::/3")
_REFUSED_6: Final = tuple(map(ipaddress.IPv6Network, (
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)))  # fmt: skip
_ENTRY: Final = re.compile(
    r"(?P<scheme>https?)://(?P<net>\*|\[[0-9a-fA-F:.]+(?:/\d+)?\]|[0-9.]+(?:/\d+)?)(?P<port>:\*|:\d{1,5})?"
)


def parse(literal: str) -> Address | None:
    """Read an address; None where it is none, or names a zone."""
    try:
        return None if "%" in literal else ipaddress.ip_address(literal)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether an address is of the public internet. One of version 4 inside one of version 6 is judged as itself."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        return address in _GLOBAL_6 and not any(address in network for network in _REFUSED_6)
    return not any(address in network for network in _REFUSED_4)


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry of the operator's list. `network` None: public addresses; `port` None: every port."""

    scheme: str
    network: Network | None
    port: int | None

    def covers(self, scheme: str, port: int) -> bool:
        """Whether it is about such addresses at all."""
        return self.scheme == scheme and self.port in {None, port}

    @property
    def stays_here(self) -> bool:
        """Whether it is about this machine alone."""
        return self.network is not None and self.network.is_loopback

    def lets(self, address: Address) -> bool:
        """Whether it lets an address through."""
        if self.network is None:
            return is_public(address)
        return address.version == self.network.version and address in self.network


class EntryFault(ValueError):
    """An entry of the operator's list cannot be read; the message says what one looks like."""


ALWAYS: Final = Allowed("https", None, HTTPS_PORT)


def read_rules(entries: Iterable[str]) -> tuple[Allowed, ...]:
    """Read the operator's list, such as `https://*:8443` or `http://127.0.0.0/8:*`. Raises EntryFault."""
    return (ALWAYS, *map(_entry, entries))


def _entry(text: str) -> Allowed:
    found = _ENTRY.fullmatch(text)
    if found is None:
        raise EntryFault(f"{text!r} is no entry such as https://*:8443, http://127.0.0.0/8:* or http://[::1]:*")
    scheme, net, port = found["scheme"], found["net"].strip("[]"), (found["port"] or f":{_PORTS[found['scheme']]}")[1:]
    try:
        network = None if net == "*" else ipaddress.ip_network(net, strict=False)
    except ValueError as error:
        raise EntryFault(f"{text!r}: {error}") from error
    return Allowed(scheme, network, None if port == "*" else int(port))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL leads: to a host, which is a name or an address."""

    scheme: str
    host: str
    port: int


def place(url: str) -> Place | str:
    """Where a URL leads, or a sentence that says why it leads nowhere."""
    if len(url) > URL_CHARS_MAX or not url.isascii() or any(c <= " " or c in '"<>\\^`{|}\x7f' for c in url):
        return f"A URL has at most {URL_CHARS_MAX} printable ASCII characters, escaped where need be."
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "This is no URL."
    if why := _fault(parts, url):
        return why
    return Place(parts.scheme, parts.hostname or "", _PORTS[parts.scheme] if port is None else port)


def _fault(parts: SplitResult, url: str) -> str | None:
    if parts.scheme not in _PORTS or not parts.hostname:
        return "A URL begins with https:// and a host."
    if "@" in parts.netloc:
        return "A URL names no user and no password; send such in `headers`."
    if "#" in url:
        return "A URL of a webhook has no fragment."
    if parts.port == 0:
        return "Port 0 is none."
    if _NETLOC.fullmatch(parts.netloc) is None or len(parts.hostname) > HOST_CHARS_MAX:
        return "The host is no name and no address."
    return None


def url_fault(url: str, rules: Sequence[Allowed]) -> str | None:
    """Why a URL cannot be a webhook's under these rules; None where it can.

    Names are judged when they are dialled; where only this machine may be reached, all but its own are refused now.
    """
    found = place(url)
    if isinstance(found, str):
        return found
    covering = [rule for rule in rules if rule.covers(found.scheme, found.port)]
    if not covering:
        return f"{found.scheme} on port {found.port} is not allowed here: use https on port 443, or ask the operator."
    literal = parse(found.host)
    if literal is not None and not any(rule.lets(literal) for rule in covering):
        return "The address is not a public one."
    if literal is None and all(rule.stays_here for rule in covering) and not _is_here(found.host):
        return f"Here {found.scheme} leads to http://127.0.0.1 and http://localhost only: use https elsewhere."
    if literal is None and (":" in found.host or _numeric(found.host)):
        return "The host is no name, and no address in its usual form."
    return None


def _is_here(host: str) -> bool:
    """Whether a name is this machine's own (RFC 6761)."""
    return host.rstrip(".").rpartition(".")[2] == "localhost"


def _numeric(host: str) -> bool:
    """Whether a host would be taken for an address by some and for a name by others, as 0x7f.1 and 2130706433."""
    last = host.rstrip(".").rpartition(".")[2]
    return re.fullmatch(r"[0-9]+|0[xX][0-9a-fA-F]*", last) is not None


def refused(scheme: str, port: int, addresses: Sequence[str], rules: Sequence[Allowed]) -> str | None:
    """The first of a host's addresses that may not be dialled; None where all may. No addresses: "nothing"."""
    covering = [rule for rule in rules if rule.covers(scheme, port)]
    if not addresses:
        return "nothing"
    for text in addresses:
        address = parse(text)
        if address is None or not any(rule.lets(address) for rule in covering):
            return text
    return None
