"""`steadhold version`: what is installed here."""

from __future__ import annotations

import click

from steadhold.cli.show import Out, printed


@click.command()
@printed
def version(out: Out) -> None:
    """Show the version of steadhold, and of the Python it runs on."""
    import platform

    from steadhold import __version__

    out.one({"steadhold": __version__, "python": platform.python_version(), "system": platform.platform(terse=True)})
