"""The `steadhold` command: a file for each noun. What a command needs is imported when it runs."""

from __future__ import annotations


def main() -> None:
    """Run the command that this process was started with."""
    import sys

    from steadhold.cli.exits import unforeseen
    from steadhold.cli.program import program

    sys.excepthook = unforeseen
    program(prog_name="steadhold")
