"""Names of things that commands make, as they are typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from steadhold.cli.amounts import Whole, a_fence
from steadhold.kit import fields, ids
from steadhold.kit.fields import FenceRef


def an_id(text: str) -> str:
    """A name that can be one segment of an address. Raises BadParameter, where a server could only say 404."""
    if fault := ids.id_fault(text):
        raise click.BadParameter(f"{text!r:.60} is no Id. {fault}")
    return text


def a_grant(text: str) -> FenceRef:
    """A grant: `lock:NAME=FENCE`, `job:ID=FENCE` or `consumer:INBOX/NAME=FENCE`. Raises BadParameter."""
    subject, equals, number = text.rpartition("=")
    why = fields.subject_fault(subject) if equals else "It ends with = and the fence that was granted."
    if why:
        raise click.BadParameter(f"{text!r:.80} is no grant, as in lock:deploy=3 or job:ID=7. {why}")
    return FenceRef(subject, a_fence(number))


def a_field(text: str) -> str:
    """The value of a header field. Raises BadParameter."""
    if not (text.isascii() and text.isprintable()):
        raise click.BadParameter(f"{text!r:.60} holds more than printable ASCII, which is all that a header field can.")
    return text


def if_match(says: str, *, required: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `--if-match`, as `if_revision`: If-Match of HTTP and if_revision of the SDK are one thing."""
    return click.option(
        "--if-match", "--if-revision", "if_revision", type=Whole(min=1), required=required, metavar="N",
        help=f"{says} Sent as If-Match; the SDK says if_revision.",
    )  # fmt: skip
