"""`steadhold work`: a worker of yours, in a process of its own."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from steadhold.cli.connect import no_key
from steadhold.cli.database import reaching
from steadhold.cli.exits import FORBIDDEN, USAGE, Said


@click.command()
@click.argument("worker", metavar="MODULE:WORKER")
@click.option("--url", metavar="URL", help="Work over HTTP. [env: STEADHOLD_URL and STEADHOLD_API_KEY]")
@click.option("--api-key-file", type=click.Path(exists=True, dir_okay=False), envvar="STEADHOLD_API_KEY_FILE")
@click.option("--database-url", metavar="URL", help="Work directly on PostgreSQL. [env: STEADHOLD_DATABASE_URL]")
@click.option("--workspace", metavar="NAME", help="Whose jobs, with --database-url.")
@click.option("--name", help="What this worker is called; never what it owns jobs by.")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="How many jobs at once.")
def work(worker: str, **options: Any) -> None:
    """Run the worker that MODULE calls WORKER; MODULE is looked for here first.

    SIGTERM and Ctrl-C let it finish what it holds, then release the rest; a second one releases at once.
    """
    from steadhold.sdk.address import NoKey
    from steadhold.worker.door import DoorRefused

    found = loaded(worker)
    given = _door(options)
    with reaching():
        try:
            if given:
                found.use(**given)
            if sys.stderr.isatty() and (types := getattr(found, "handlers", None)):
                click.echo(f"Waiting for jobs of type {', '.join(types)}. Ctrl-C stops this worker.", err=True)
            found.run()
        except DoorRefused as error:  # what the server said is its cause
            raise error.__cause__ or Said(str(error), FORBIDDEN) from None
        except NoKey:
            raise no_key() from None
        except ValueError as error:  # what it was made with, or told here, cannot be
            raise Said(str(error), USAGE) from error


def loaded(place: str) -> Any:
    """The worker at MODULE:NAME. Raises Said where there is none; what the module itself raises passes."""
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise Said(f"{place!r} names no worker: write MODULE:WORKER, as in tasks:worker.", USAGE)
    if os.getcwd() not in sys.path:  # noqa: PTH109 - an entry of the path is text
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise Said(f"{module} needs {error.name}, which is not installed here.") from error
        raise Said(f"There is no module {error.name} here.", USAGE, next="Run this where it lies.") from error
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(getattr(found, "run", None)):
        raise Said(f"{module} has no worker called {name}.", USAGE)
    return found


def _door(options: dict[str, Any]) -> dict[str, Any]:
    """What `use` is told: how to reach jobs, where that was said here."""
    if options["url"] and options["database_url"]:
        raise click.UsageError("Give --url or --database-url, not both.")
    given = {name: options[name] for name in ("url", "workspace", "name", "concurrency") if options[name] is not None}
    if options["api_key_file"]:
        with open(options["api_key_file"], encoding="utf-8") as file:  # noqa: PTH123 - a path that was checked
            given["api_key"] = file.read().strip()
    database = options["database_url"] or (options["workspace"] and os.environ.get("STEADHOLD_DATABASE_URL"))
    if database:
        if not options["workspace"]:
            raise click.UsageError("Say whose jobs: --workspace NAME.")
        given["dsn"] = database
    return given
