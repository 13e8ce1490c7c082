"""`steadhold work`: a worker of yours, in a process of its own."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any, Final

import click

from steadhold.cli.amounts import Whole
from steadhold.cli.bodies import text_in
from steadhold.cli.connect import no_key
from steadhold.cli.database import reaching
from steadhold.cli.exits import FORBIDDEN, UNAVAILABLE, USAGE, Said

TOLD: Final = ("url", "workspace", "prepared_statements", "name", "concurrency")
_PATHLIKE: Final = re.compile(r"/|\.py$")


@click.command()
@click.argument("worker", metavar="MODULE:WORKER")
@click.option("--url", metavar="URL", help="Work over HTTP. [env: STEADHOLD_URL and STEADHOLD_API_KEY]")
@click.option("--api-key-file", type=click.Path(exists=True, dir_okay=False), envvar="STEADHOLD_API_KEY_FILE")
@click.option("--database-url", metavar="URL", help="Work directly on PostgreSQL. [env: STEADHOLD_DATABASE_URL]")
@click.option(
    "--prepared-statements",
    type=Whole(min=0),
    metavar="N",
    help="Per connection to PostgreSQL; 0 behind a pooler that loses them. [env: STEADHOLD_PREPARED_STATEMENTS]",
)
@click.option("--workspace", metavar="NAME", help="Whose jobs, with --database-url.")
@click.option("--name", help="What this worker is called; never what it owns jobs by.")
@click.option("--concurrency", type=Whole(min=1), metavar="N", help="How many jobs at once.")
def work(worker: str, **options: Any) -> None:
    """Run the worker that MODULE calls WORKER; MODULE is looked for here first.

    SIGTERM and Ctrl-C let it finish what it holds, then release the rest; a second one releases at once.
    """
    from steadhold.sdk.address import NoKey
    from steadhold.worker.door import DoorRefused, DoorShut

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
        except DoorShut as error:
            raise _why(error) from None
        except NoKey:
            raise no_key() from None
        except ValueError as error:  # what it was made with, or told here, cannot be
            raise Said(str(error), USAGE) from error


def _why(shut: Exception) -> BaseException:
    """What the database said, or that it is not there, at the beginning: later it is waited for."""
    said = shut.__cause__
    away = None if said is None else said.__cause__
    return away if isinstance(away, OSError) else said or Said(str(shut), UNAVAILABLE)


def loaded(place: str) -> Any:
    """The worker at MODULE:NAME. Raises Said where there is none; what the module itself raises passes."""
    module, name = _parted(place)
    found = whole = _imported(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not _is_worker(found):
        raise Said(f"{module} has no worker called {name}.", USAGE, next=_others(module, whole))
    return found


def _parted(place: str) -> tuple[str, str]:
    """A module and a name in it. Raises Said where what was typed is something else."""
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        like = f"{_as_module(module) or 'tasks'}:{name or 'worker'}"
        raise Said(f"{place!r} names no worker: write MODULE:WORKER, as in {like}.", USAGE)
    if (named := _as_module(module)) != module:
        raise Said(
            f"{module} is a file; a module is named as Python imports it.",
            USAGE,
            next=f"`steadhold work {named}:{name}`, run in the folder where {named.partition('.')[0]} lies.",
        )
    return module, name


def _imported(module: str) -> Any:
    """A module of the current folder, or of any other where Python looks."""
    if os.getcwd() not in sys.path:  # noqa: PTH109 - an entry of the path is text
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise Said(f"{module} needs {error.name}, which is not installed here.") from error
        raise Said(f"There is no module {error.name} here.", USAGE, next="Run this where it lies.") from error


def _is_worker(thing: object) -> bool:
    return not isinstance(thing, type) and all(callable(getattr(thing, verb, None)) for verb in ("run", "use"))


def _others(module: str, found: object) -> str:
    """Which workers a module does have."""
    names = [name for name, thing in vars(found).items() if _is_worker(thing)]
    if not names:
        return f"There is none in it: write `worker = Worker()` in {module}, and @worker.job(TYPE) above a function."
    return f"It has {', '.join(names)}: `steadhold work {module}:{names[0]}`."


def _as_module(text: str) -> str:
    """A module as Python names it, where its file was typed."""
    return text.removesuffix(".py").removeprefix("./").strip("/").replace("/", ".") if _PATHLIKE.search(text) else text


def _door(options: dict[str, Any]) -> dict[str, Any]:
    """What `use` is told: how to reach jobs, where that was said here."""
    if options["url"] and options["database_url"]:
        raise click.UsageError("Give --url or --database-url, not both.")
    given = {name: options[name] for name in TOLD if options[name] is not None}
    if options["api_key_file"]:
        given["api_key"] = text_in(options["api_key_file"]).strip()
    database = options["database_url"] or (options["workspace"] and os.environ.get("STEADHOLD_DATABASE_URL"))
    if database:
        if not options["workspace"]:
            raise click.UsageError("Say whose jobs: --workspace NAME.")
        given["dsn"] = database
    return given
