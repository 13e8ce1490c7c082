"""Structured field values (RFC 9651): parse and serialise items, lists and dictionaries.

Bare items are plain Python: bool, int, Decimal, bytes, str for a string, :class:`Token` for a token,
:class:`Date` for a date. Display strings are not read: no field of ours has one.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TypeAlias


class StructuredError(ValueError):
    """A text is no structured field of the kind it was read as; the message says where and why."""


class Token(str):
    """A bare word, such as ``gzip``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Date:
    """A moment in whole seconds since 1970."""

    seconds: int


Bare: TypeAlias = bool | int | Decimal | bytes | str | Date
Parameters: TypeAlias = Mapping[str, Bare]


@dataclass(frozen=True, slots=True)
class Item:
    """One value with its parameters."""

    value: Bare
    parameters: Parameters = field(default_factory=dict[str, Bare])


@dataclass(frozen=True, slots=True)
class InnerList:
    """Items in parentheses, with parameters of their own."""

    items: tuple[Item, ...]
    parameters: Parameters = field(default_factory=dict[str, Bare])


Member: TypeAlias = Item | InnerList

_SPACES = re.compile(r" *+")
_BLANKS = re.compile(r"[ \t]*+")
_KEY = re.compile(r"[a-z*][a-z0-9_.*-]*+")
_STRING = re.compile(r'"(?:[ !#-\[\]-~]|\\["\\])*"')
_BYTES = re.compile(r":[A-Za-z0-9+/]*+={0,2}:")
_TOKEN = re.compile(r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*+")
_DATE = re.compile(r"@-?[0-9]{1,15}(?![0-9.])")
_BOOLEAN = re.compile(r"\?[01]")
_NUMBER = re.compile(r"-?(?:[0-9]{1,12}\.[0-9]{1,3}(?![0-9.])|[0-9]{1,15}(?![0-9.]))")
_PRINTABLE = re.compile(r"[ -~]*+")
_ESCAPED = re.compile(r'\\(["\\])')
_INTEGER_MAX = 999_999_999_999_999
_DECIMAL_MAX = Decimal(10**12)
_THOUSANDTH = Decimal("0.001")


def parse_item(text: str) -> Item:
    """The one item that a field says. Raises StructuredError."""
    reader = _Reader(text)
    item = reader.item()
    reader.finish()
    return item


def parse_list(text: str) -> tuple[Member, ...]:
    """The members of a list field; an empty field has none. Raises StructuredError."""
    reader = _Reader(text)
    members: list[Member] = []
    while reader.more(first=not members):
        members.append(reader.member())
    return tuple(members)


def parse_dictionary(text: str) -> dict[str, Member]:
    """The members of a dictionary field; of a key repeated, the last. Raises StructuredError."""
    reader = _Reader(text)
    members: dict[str, Member] = {}
    while reader.more(first=not members):
        key = reader.expect(_KEY, "a key")
        members[key] = reader.member() if reader.take("=") else Item(True, reader.parameters())
    return members


def write_item(item: Item) -> str:
    """The canonical text of an item. Raises StructuredError for a value that no field can say."""
    return _bare_text(item.value) + _parameters_text(item.parameters)


def write_list(members: Sequence[Member]) -> str:
    """The canonical text of a list. Raises StructuredError."""
    return ", ".join(map(_member_text, members))


def write_dictionary(members: Mapping[str, Member]) -> str:
    """The canonical text of a dictionary. Raises StructuredError."""
    return ", ".join(_entry_text(key, member) for key, member in members.items())


class _Reader:
    """A text, and how far it has been read."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skip(_SPACES)

    def skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()

    def take(self, mark: str) -> bool:
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def expect(self, pattern: re.Pattern[str], what: str) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise StructuredError(f"expected {what} at character {self.at}")
        self.at = found.end()
        return found[0]

    def finish(self) -> None:
        self.skip(_SPACES)
        if self.at < len(self.text):
            raise StructuredError(f"expected the end at character {self.at}")

    def more(self, *, first: bool) -> bool:
        """Whether another member follows; steps over the comma before it."""
        if first:
            return self.at < len(self.text)
        self.skip(_BLANKS)
        if self.at == len(self.text):
            return False
        if not self.take(","):
            raise StructuredError(f"expected a comma at character {self.at}")
        self.skip(_BLANKS)
        if self.at == len(self.text):
            raise StructuredError("a comma ends the field")
        return True

    def member(self) -> Member:
        return self.inner_list() if self.take("(") else self.item()

    def item(self) -> Item:
        return Item(self.bare(), self.parameters())

    def inner_list(self) -> InnerList:
        items: list[Item] = []
        self.skip(_SPACES)
        while not self.take(")"):
            items.append(self.item())
            if self.text[self.at : self.at + 1] not in (" ", ")"):
                raise StructuredError(f"expected a space or ) at character {self.at}")
            self.skip(_SPACES)
        return InnerList(tuple(items), self.parameters())

    def parameters(self) -> dict[str, Bare]:
        parameters: dict[str, Bare] = {}
        while self.take(";"):
            self.skip(_SPACES)
            key = self.expect(_KEY, "a key")
            parameters[key] = self.bare() if self.take("=") else True
        return parameters

    def bare(self) -> Bare:
        match self.text[self.at : self.at + 1]:
            case '"':
                return _ESCAPED.sub(r"\1", self.expect(_STRING, "a string")[1:-1])
            case ":":
                return _bytes(self.expect(_BYTES, "a byte sequence"))
            case "?":
                return self.expect(_BOOLEAN, "?0 or ?1") == "?1"
            case "@":
                return Date(int(self.expect(_DATE, "a date")[1:]))
            case first if first in "-0123456789" and first:
                number = self.expect(_NUMBER, "a number")
                return Decimal(number) if "." in number else int(number)
            case _:
                return Token(self.expect(_TOKEN, "a value"))


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text[1:-1], validate=True)
    except binascii.Error:
        raise StructuredError("a byte sequence is not well-formed base64") from None


def _member_text(member: Member) -> str:
    if isinstance(member, Item):
        return write_item(member)
    return "(" + " ".join(map(write_item, member.items)) + ")" + _parameters_text(member.parameters)


def _entry_text(key: str, member: Member) -> str:
    if isinstance(member, Item) and member.value is True:
        return _key_text(key) + _parameters_text(member.parameters)
    return f"{_key_text(key)}={_member_text(member)}"


def _parameters_text(parameters: Parameters) -> str:
    return "".join(
        f";{_key_text(key)}" if value is True else f";{_key_text(key)}={_bare_text(value)}"
        for key, value in parameters.items()
    )


def _key_text(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise StructuredError(f"{key!r} is no key")
    return key


def _bare_text(value: Bare) -> str:
    match value:
        case bool():
            return "?1" if value else "?0"
        case int():
            return _integer_text(value)
        case Decimal():
            return _decimal_text(value)
        case bytes():
            return f":{b64encode(value).decode()}:"
        case Date():
            return f"@{_integer_text(value.seconds)}"
        case Token():
            return _token_text(value)
        case str():
            return _string_text(value)


def _integer_text(number: int) -> str:
    if abs(number) > _INTEGER_MAX:
        raise StructuredError(f"{number} has more than 15 digits")
    return str(number)


def _decimal_text(number: Decimal) -> str:
    if not number.is_finite() or abs(number) >= _DECIMAL_MAX:
        raise StructuredError(f"{number} has more than 12 digits before the point")
    text = f"{number.quantize(_THOUSANDTH, ROUND_HALF_EVEN):f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def _token_text(token: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise StructuredError(f"{token!r} is no token")
    return str(token)


def _string_text(text: str) -> str:
    if not _PRINTABLE.fullmatch(text):
        raise StructuredError("a string holds printable ASCII only")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
