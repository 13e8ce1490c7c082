"""Commands that work at the database itself, and which one that is."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.exits import UNAVAILABLE, Said

if TYPE_CHECKING:
    from steadhold.kit.plan import Call
    from steadhold.server.settings import Settings

NAMES: Final = ("database_url", "data_dir", "pg_bin")


def at_database(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which database, and its URL as its first argument."""

    @databased
    @functools.wraps(command)
    def asked(*args: Any, config: str | None, **named: Any) -> Any:
        flags = {name: named.pop(name) for name in NAMES}
        with reaching(), reached(settings(flags, config)) as dsn:
            return command(dsn, *args, **named)

    return asked


def databased(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `database_url`, `data_dir`, `pg_bin` and `config`."""
    for option in (
        click.option("--database-url", metavar="URL", help="PostgreSQL. [env: STEADHOLD_DATABASE_URL]"),
        click.option("--data-dir", metavar="DIR", help="Or the folder of an embedded one."),
        click.option("--pg-bin", metavar="DIR", help="The programs to start it with, if it is not running."),
        click.option("--config", metavar="FILE", help="A settings file. [env: STEADHOLD_CONFIG]"),
    ):
        command = option(command)
    return command


def settings(flags: dict[str, Any], config: str | None) -> Settings:
    """Settings of flags, environment and file. Raises SettingError."""
    from steadhold.server.sources import load

    return load(flags, os.environ, Path(config) if config else None).settings


@contextmanager
def reaching() -> Iterator[None]:
    """Say it in a sentence when the database does not answer."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Said(
            f"The database cannot be reached: {error.strerror or error}.",
            UNAVAILABLE,
            next="Is it running, and is STEADHOLD_DATABASE_URL right? `steadhold doctor` examines it.",
        ) from error


@contextmanager
def reached(settings: Settings) -> Iterator[str]:
    """The URL of the database that settings name; an embedded one that does not run is started meanwhile."""
    if settings.database_url:
        yield settings.database_url
        return
    from steadhold.db.embedded import Embedded
    from steadhold.db.folder import default_data_dir

    folder = Path(settings.data_dir or default_data_dir()).absolute()
    if not (folder / "postgres").exists():
        raise Said(
            f"There is no database in {folder}.",
            next="Name one with STEADHOLD_DATABASE_URL or --data-dir; `steadhold dev` makes one.",
        )
    if not settings.data_dir:
        click.echo(f"No database is named: this is about the one in {folder}.", err=True)
    if (dsn := running(folder)) is not None:
        yield dsn
        return
    with Embedded(folder, pg_bin=settings.pg_bin or None, on=functools.partial(click.echo, err=True)) as postgres:
        yield postgres.dsn


def running(folder: Path) -> str | None:
    """The URL of the PostgreSQL that a server runs on a data folder; None where none does."""
    from steadhold.db import embedded, postmaster
    from steadhold.db.folder import OWNER

    found = postmaster.read(folder / "postgres")
    if found is None or not found.ready or not postmaster.serves(found.pid, folder / "postgres"):
        return None
    return f"postgresql://{OWNER}@/postgres?host={found.socket_dir}&port={embedded.PORT}"


async def played(dsn: str, *calls: Call[Any]) -> list[Any]:
    """Play calls on a database, each in a transaction of its own; their outcomes."""
    from steadhold.db.pool import Pool
    from steadhold.play.single import Single

    async with Pool(dsn, size=1, statements=0) as pool:  # no statement is asked so often that it has to be kept
        player = Single(pool)
        return [await player.play(call) for call in calls]
