"""What a command is given: JSON as an argument, a file or standard input, sent as it is; and texts of files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import click

from steadhold.cli.exits import USAGE, Said
from steadhold.kit import exact

_NEGATIVE: Final = re.compile(r"-\d")

QUOTING: Final = (
    "A shell takes quotes and blanks for itself. Put JSON in single quotes: "
    """'{"text": "hello"}', and a text of its own '"hello"'."""
)


class Verb(click.Command):
    """A command one of whose arguments may be a negative number, which is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put negative numbers behind `--`, unless there is one; those that an option takes stay where they are."""
        if "--" not in args:
            takes = {name for p in self.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts}
            free = [bool(_NEGATIVE.match(arg)) and before not in takes for before, arg in pairwise(["", *args])]
            numbers = [arg for arg, moves in zip(args, free, strict=True) if moves]
            rest = [arg for arg, moves in zip(args, free, strict=True) if not moves]
            args = [*rest, "--", *numbers] if numbers else args
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if "unexpected extra argument" in error.message:
                raise click.UsageError(f"{error.message}\n{QUOTING}", ctx) from None
            raise


def body(name: str, *, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an argument and `--file` for one JSON; `given` reads it."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        file = click.option(
            "-f", "--file", type=click.Path(exists=True, dir_okay=False), help=f"Take {name} from a file, as it is."
        )
        return click.argument(name.lower(), metavar=name if required else f"[{name}]", required=False)(file(command))

    return decorate


def given(name: str, text: str | None, file: str | None) -> bytes | None:
    """The bytes of the argument (`-`: of standard input), or of the file; None where there are neither."""
    if text is not None and file is not None:
        raise click.UsageError(f"Give {name} or --file, not both.")
    if file is not None:
        return _checked(name, Path(file).read_bytes())
    if text == "-":
        return _checked(name, sys.stdin.buffer.read())
    return None if text is None else _checked(name, os.fsencode(text), next=QUOTING)


def text_in(file: str) -> str:
    """The text of a file (`-`: of standard input)."""
    try:
        with click.open_file(file, encoding="utf-8") as reading:
            return reading.read()
    except UnicodeDecodeError:
        raise Said(f"{file} holds bytes that are no text.", USAGE) from None


def _checked(name: str, raw: bytes, next: str = "") -> bytes:
    """The bytes as they are. A fault is told here, where it is counted from their own beginning."""
    if fault := exact.check(raw):
        raise Said(f"{name} is not exact JSON: {fault.why} (byte {fault.position})", USAGE, next=next)
    return raw


def needed(name: str, text: str | None, file: str | None) -> bytes:
    """The same where it has to be given."""
    found = given(name, text, file)
    if found is None:
        raise click.UsageError(f"Give {name}: as an argument, as - for standard input, or with --file.")
    return found
