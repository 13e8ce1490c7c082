"""What a door answered, as a page reads it: facts by name, and user bytes as they are, or hidden."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steadhold.dashboard.layout import laid_out, plain
from steadhold.kit.sealed import MEDIA_TYPE as SEALED_TYPE
from steadhold.kit.sealed import Seal, seal_of

SHOWN_BYTES_MAX: Final = 64 * 1024
"""So much of a user's bytes is shown on a page; the rest is downloaded."""

HEX_BYTES_MAX: Final = 1_024
Form: TypeAlias = Literal["absent", "hidden", "sealed", "json", "text", "bytes"]

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Payload:
    """A user's bytes. Hidden ones are not in it: a page cannot show by mistake what the key may not read."""

    form: Form
    raw: bytes = b""
    size: int = 0
    kid: str = ""

    @property
    def cut(self) -> bool:
        """Whether there is more than is shown."""
        return self.size > (HEX_BYTES_MAX if self.form == "bytes" else SHOWN_BYTES_MAX)

    @property
    def text(self) -> str:
        """What is shown: JSON laid out with every token as it was written, text, or a dump in hexadecimal."""
        if self.form == "bytes":
            return _dump(self.raw[:HEX_BYTES_MAX])
        shown = self.raw[:SHOWN_BYTES_MAX].decode("utf-8", "replace")
        return plain(laid_out(shown) if self.form == "json" and not self.cut else shown)


ABSENT: Final = Payload("absent")


def payload(raw: bytes, content_type: str, *, readable: bool) -> Payload:
    """User bytes of this type, for a key that may read payloads or not."""
    if content_type == SEALED_TYPE and isinstance(seal := seal_of(raw), Seal):
        return Payload("sealed", b"", len(raw), seal.kid)  # its head is plain to whoever may see that it is there
    if not readable:
        return Payload("hidden", b"", len(raw))
    return Payload(_form(raw, content_type), raw, len(raw))


def _form(raw: bytes, content_type: str) -> Form:
    try:
        text = raw[:SHOWN_BYTES_MAX].decode("utf-8", "strict" if len(raw) <= SHOWN_BYTES_MAX else "ignore")
    except UnicodeDecodeError:
        return "bytes"
    if "\0" in text:
        return "bytes"
    return "json" if content_type == "application/json" or content_type.endswith("+json") else "text"


def _dump(raw: bytes) -> str:
    lines = (raw[at : at + 16] for at in range(0, len(raw), 16))
    return "\n".join(
        f"{16 * n:06x}  {line.hex(' '):<47}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in line)}"
        for n, line in enumerate(lines)
    )


class Facts:
    """The members of a JSON object by name. `raw` is for members that hold a user's JSON."""

    __slots__ = ("_members", "_readable")

    def __init__(self, members: Mapping[str, msgspec.Raw], *, readable: bool) -> None:
        self._members, self._readable = members, readable

    def __getitem__(self, name: str) -> Any:
        return msgspec.json.decode(self._members[name])

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def get(self, name: str, default: Any = None) -> Any:
        """A member, or what stands for one that is absent."""
        return self[name] if name in self._members else default

    def raw(self, name: str) -> Payload:
        """A member that holds a user's JSON, exactly as it is kept."""
        if name not in self._members:
            return ABSENT
        return payload(bytes(self._members[name]), "application/json", readable=self._readable)

    def base64(self, name: str) -> Payload:
        """A member that holds a user's bytes in base64."""
        if name not in self._members or self[name] is None:
            return ABSENT
        return payload(base64.b64decode(self[name]), "", readable=self._readable)

    def part(self, name: str) -> Facts | None:
        """A member that is an object; None where it is absent or null."""
        if name not in self._members or bytes(self._members[name]) == b"null":
            return None
        return Facts(_MEMBERS.decode(self._members[name]), readable=self._readable)

    def each(self, name: str) -> list[Facts]:
        """A member that is a list of objects; none where it is absent or null."""
        if name not in self._members or bytes(self._members[name]) == b"null":
            return []
        items = _ITEMS.decode(self._members[name])
        return [Facts(_MEMBERS.decode(item), readable=self._readable) for item in items]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a door answered with. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    readable: bool = False

    @property
    def facts(self) -> Facts:
        """The body as facts."""
        return Facts(_MEMBERS.decode(self.body), readable=self.readable)

    @property
    def items(self) -> list[Facts]:
        """The items of a list."""
        return self.facts.each("items")

    @property
    def next_cursor(self) -> str | None:
        """Where a list goes on; None at its end."""
        return self.facts.get("next_cursor")

    @property
    def revision(self) -> int | None:
        """The revision that the answer is of."""
        told = self.headers.get("revision")
        return None if told is None else int(told)

    @property
    def payload(self) -> Payload:
        """The whole body as a user's bytes."""
        return payload(self.body, self.headers.get("content-type", ""), readable=self.readable)
