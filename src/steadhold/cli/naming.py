"""Names of things that commands make, as they are typed."""

from __future__ import annotations

import click

from steadhold.kit import ids


def an_id(text: str) -> str:
    """A name that can be one segment of an address. Raises BadParameter, where a server could only say 404."""
    if fault := ids.id_fault(text):
        raise click.BadParameter(f"{text!r} is no Id. {fault}")
    return text
