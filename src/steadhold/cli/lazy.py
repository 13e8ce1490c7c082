"""A group that knows its commands by name and a line of help, and imports one only to run it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from steadhold.cli.exits import INTERRUPTED, interrupted, left_with
from steadhold.kit.legible import legible


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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`help COMMAND` is what others have for `COMMAND --help`, so it is taken for that."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        try:
            return super().parse_args(ctx, args)
        except OSError as error:  # `--help` and `--version` print while they are read
            code = left_with(error)
            if code is None:
                raise
            ctx.exit(code)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with. Where there is none, the nearest are named."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:  # click looks among those that were imported
            raise click.NoSuchCommand(error.command_name, possibilities=self._places, ctx=ctx) from None

    def _elsewhere(self, error: click.NoSuchCommand) -> click.NoSuchCommand:
        """Of a command that was looked for in a group, and is one of ours: where it is."""
        if error.ctx is None or error.ctx.command is self or error.command_name not in self._places:
            return error
        said = f"{error.message} There is `{error.ctx.find_root().info_name} {error.command_name}`."
        return click.NoSuchCommand(error.command_name, said, ctx=error.ctx)

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
                click.echo(legible(interrupted(note)), err=True)
            ctx.exit(INTERRUPTED)
        except click.NoSuchCommand as error:
            raise self._elsewhere(error) from None
        except Exception as error:
            code = left_with(error)
            if code is None:
                raise
            ctx.exit(code)
