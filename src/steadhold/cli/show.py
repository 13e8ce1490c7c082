"""What commands print: JSON lines off a terminal, plain tables on one, exact bytes where bytes were asked for."""

from __future__ import annotations

import codecs
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import click
import msgspec

from steadhold.cli.exits import Said
from steadhold.kit import exact
from steadhold.kit.legible import legible

CELL_CHARS_MAX: Final = 60
LIVE_CHARS_MIN: Final = 9  # the width of a column whose rows are yet to come; the longest state fits

DEPTH_MAX: Final = 3  # what lies deeper is shown as the JSON it is

_ACTED_ON: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?![\n]|\\Z)")
"""What a terminal obeys and does not show: control characters that are no layout, and turns of writing direction.

A lone CR writes one line over another."""
_WORDS: Final = {b"null": "-", b"true": "yes", b"false": "no"}
_EMPTY: Final = (b"null", b'""', b"[]", b"{}")


class Out:
    """Where a command's answer goes, and in which form."""

    def __init__(self, form: str | None = None) -> None:
        self.json = (form or ("table" if sys.stdout.isatty() else "json")) == "json"
        self._headed = False

    def one(self, item: Any, *, if_true: Sequence[str] = ()) -> None:
        """Print one thing: a line of JSON, or a line for each member that says anything; `if_true` only say yes."""
        if self.json:
            _echo(item)
            return
        silent = dict.fromkeys(if_true, b"false")
        said = {n: value for n, value in _members(item).items() if value != silent.get(n)}
        for text in _lines(said):
            click.echo(text)

    def many(self, items: Iterable[Any], columns: Sequence[str]) -> None:
        """Print a list: a line of JSON for each as it comes, or a table of some columns."""
        if self.json:
            for item in items:
                _echo(item)
            return
        rows = [[_short(_cell(members.get(name, b"null"))) for name in columns] for members in map(_members, items)]
        heads = [name.upper() for name in columns]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, *rows):
            click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def told(self, items: Sequence[Mapping[str, str]], columns: Sequence[str], says: str) -> None:
        """Print findings: lines of JSON, or columns with a whole sentence at the end of each line."""
        if self.json:
            self.many(items, ())
            return
        widths = [max(len(item[name]) for item in items) for name in columns]
        for item in items:
            cells = [item[name].ljust(width) for name, width in zip(columns, widths, strict=True)]
            click.echo("  ".join([*cells, legible(item[says])]))

    def each(self, item: Any, columns: Sequence[str]) -> None:
        """Print one of a list without an end, at once."""
        if self.json:
            _echo(item)
            return
        heads, members = [name.upper() for name in columns], _members(item)
        rows = [[_short(_cell(members.get(name, b"null"))) for name in columns]]
        for row in rows if self._headed else (heads, *rows):
            widths = [max(len(head), LIVE_CHARS_MIN) for head in heads]
            click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        self._headed = True


def line(item: Any) -> bytes:
    """An item as one line of JSON. Line ends of exact JSON inside it are white space, so they become spaces."""
    return msgspec.json.encode(_told(item)).replace(b"\n", b" ").replace(b"\r", b" ")


def raw(pieces: Iterable[bytes]) -> None:
    """Print bytes as they are; on a terminal only text, after which the prompt begins a new line."""
    terminal, last, out = sys.stdout.isatty(), b"\n", sys.stdout.buffer
    try:
        for piece in _readable(pieces) if terminal else pieces:
            out.write(piece)
            last = piece or last
    finally:
        if terminal and not last.endswith(b"\n"):
            out.write(b"\n")
        out.flush()


def _readable(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of text. Raises Said before one that is none: a terminal would act on it."""
    decoder, text = codecs.getincrementaldecoder("utf-8")(), ""
    for piece in pieces:
        try:
            text = ("\r" if text.endswith("\r") else "") + decoder.decode(piece)
        except UnicodeDecodeError:
            text = "\0"
        if _ACTED_ON.search(text):
            why = "These bytes are no text that a terminal could show."
            raise Said(why, next="`> FILE` writes them into a file; `| cat` shows them nevertheless.")
        yield piece


def _echo(item: Any) -> None:
    """Print a line of JSON; on a terminal what that would obey is escaped, which JSON reads as the same."""
    text = line(item)
    click.echo(_ACTED_ON.sub(_escape, text.decode()) if sys.stdout.isatty() else text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def printed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `-o`, and `out` to print with."""

    @click.option("-o", "--output", type=click.Choice(["json", "table"]), help="Default: a table on a terminal.")
    @functools.wraps(command)
    def asked(*args: Any, output: str | None, **named: Any) -> Any:
        return command(*args, out=Out(output), **named)

    return asked


def _lines(said: Mapping[str, bytes], depth: int = 0) -> Iterator[str]:
    """A line for each member that says anything; members of members stand below, further in."""
    said = {_cell_of(name): value for name, value in said.items() if value not in _EMPTY}
    width = max(map(len, said), default=0)
    for name, value in said.items():
        inner = exact.members(value) if depth < DEPTH_MAX else {}
        items = [exact.members(item) for item in _items(value)]
        if inner:
            yield f"{'  ' * depth}{name}"
            yield from _lines(inner, depth + 1)
        elif items and all(items):
            yield f"{'  ' * depth}{name}"
            yield from ("  " * (depth + 1) + _phrase(item) for item in items)
        else:
            yield f"{'  ' * depth}{name.ljust(width)}  {_cell(value)}"


def _phrase(item: Mapping[str, bytes]) -> str:
    return ", ".join(f"{_cell_of(name)} {_cell(value)}" for name, value in item.items() if value not in _EMPTY)


def _items(value: bytes) -> list[bytes]:
    if value[:1] != b"[":
        return []
    return [bytes(item) for item in msgspec.json.decode(value, type=list[msgspec.Raw])]


def _told(item: Any) -> Any:
    """An item without its members of exact JSON that are not there: they are not null, and have no bytes."""
    if not isinstance(item, msgspec.Struct):
        return item
    pairs = zip(item.__struct_encode_fields__, msgspec.structs.astuple(item), strict=True)
    return {name: value for name, value in pairs if not isinstance(value, msgspec.Raw) or bytes(value)}


def _members(item: Any) -> Mapping[str, bytes]:
    return exact.members(line(item))


def _cell(said: bytes) -> str:
    """What a person reads of a member's JSON."""
    return _cell_of(_read(said))


def _cell_of(text: str) -> str:
    return legible(text.replace("\n", " "))


def _read(said: bytes) -> str:
    """A string, or strings, as they are; numbers and all else as they came."""
    if said[:1] == b'"':
        return msgspec.json.decode(said, type=str)
    if said[:1] == b"[":
        try:
            return " ".join(msgspec.json.decode(said, type=list[str]))
        except msgspec.ValidationError:
            pass
    return _WORDS.get(said, said.decode())


def _short(cell: str) -> str:
    return cell if len(cell) <= CELL_CHARS_MAX else cell[: CELL_CHARS_MAX - 1] + "…"
