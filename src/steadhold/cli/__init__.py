"""The `steadhold` command: a file for each noun. What a command needs is imported when it runs."""

from __future__ import annotations


def main() -> None:
    """Run the command that this process was started with."""
    from steadhold.cli.program import program

    program(prog_name="steadhold")
