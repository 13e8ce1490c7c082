"""A group that knows its commands by name and a line of help, and imports one only to run it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from steadhold.cli.exits import INTERRUPTED, told


class Lazy(click.Group):
    """Commands are listed as `{section: {name: "module:object | help"}}`, in the order they are shown."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, tuple[str, str]]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.sections = sections
        self._places = {name: place for section in sections.values() for name, (place, _) in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, also those that were not imported."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Import a command, or None where there is none of that name."""
        place = self._places.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        return getattr(import_module(module), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """List the commands without importing them."""
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, says) for name, (_, says) in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what it raises leaves as a sentence and a documented exit code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            for note in getattr(stopped, "__notes__", ()):
                click.echo(note, err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            said = told(error)
            if said is None:
                raise
            said.show()
            ctx.exit(said.code)
