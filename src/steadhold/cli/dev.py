"""`steadhold dev`: PostgreSQL, server and background work in one process, for this machine only."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import Whole
from steadhold.cli.exits import USAGE, Said
from steadhold.cli.show import line

if TYPE_CHECKING:
    from steadhold.db.embedded import Embedded
    from steadhold.server.app import App
    from steadhold.server.settings import Settings

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
DEFAULT_PORT: Final = 8750
KEY_FILE: Final = "api_key"
SEALING_FILE: Final = "sealing_key"
LOOPS_BACK: Final = ("http://127.0.0.0/8:*", "http://[::1]:*")
"""Where webhooks of a development server may lead too."""


@click.command()
@click.option("--data-dir", metavar="DIR", help="Where everything is kept. [default: your own place]")
@click.option("--host", metavar="ADDRESS", help="A loopback address. [default: 127.0.0.1]")
@click.option("--port", type=Whole(0, 65_535), metavar="PORT", help=f"0 takes a free one. [default: {DEFAULT_PORT}]")
@click.option("--pg-bin", metavar="DIR", help="Folder of PostgreSQL's programs. [default: find one]")
@click.option("--config", metavar="FILE", help="A settings file. [env: STEADHOLD_CONFIG]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Once ready, print one line: url, dashboard, api_key, data_dir, database_url, pid.",
)
def dev(config: str | None, as_json: bool, **flags: Any) -> None:  # noqa: FBT001 - a flag
    """Start everything on this machine: PostgreSQL, server and background work in one process.

    The key it prints is kept in the data folder: the same one at each start. Ctrl-C stops everything, and nothing
    is lost. Other machines cannot reach it; for those there is `steadhold serve`.
    """
    from steadhold.server import logs

    settings = _settings(flags, config)
    logs.configure(settings.log_format, settings.log_level)
    _run(settings, plain=as_json or not sys.stdout.isatty())


def _settings(flags: dict[str, Any], config: str | None) -> Settings:
    """What was asked for, save that the database is the folder's own and only this machine is served."""
    import msgspec

    from steadhold.db.folder import default_data_dir
    from steadhold.server.sources import load

    asked = {**flags, "database_url": "", "unix_socket": "", "listen_fd": -1}
    loaded = load(asked, os.environ, Path(config) if config else None)
    found = loaded.settings
    if not _loops_back(found.host):
        raise Said(
            f"`steadhold dev` serves this machine only, and {found.host} is no loopback address.",
            USAGE,
            next="Use 127.0.0.1, or `steadhold serve --host ADDRESS` with keys of your own.",
        )
    folder = Path(found.data_dir or default_data_dir()).absolute()
    hosts = tuple(dict.fromkeys((*LOOPBACK, found.host.lower(), *found.hosts)))
    form = "text" if loaded.origins["log_format"] == "default" else found.log_format
    return msgspec.structs.replace(found, data_dir=str(folder), hosts=hosts, log_format=form)


def _loops_back(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _run(settings: Settings, *, plain: bool) -> None:
    import asyncio

    import msgspec
    import structlog

    from steadhold.cli import dev_key
    from steadhold.cli.signals import ended_by_signals
    from steadhold.db.embedded import Embedded
    from steadhold.db.migrate import migrate
    from steadhold.server.run import run

    async def prepared(dsn: str) -> str:
        await migrate(dsn)
        return await dev_key.imported(dsn, Path(settings.data_dir) / KEY_FILE)

    _look_at_port(settings)
    log = structlog.get_logger("steadhold.dev")
    with (
        ended_by_signals(),
        _held(Embedded(settings.data_dir, pg_bin=settings.pg_bin or None, on=log.warning)) as postgres,
    ):
        key = asyncio.run(prepared(postgres.dsn))
        at = msgspec.structs.replace(
            settings,
            database_url=postgres.dsn,
            migrate=False,
            sealing_key=settings.sealing_key or dev_key.sealing(Path(settings.data_dir) / SEALING_FILE),
            webhooks_allow=(*settings.webhooks_allow, *LOOPS_BACK),
        )
        run(at, functools.partial(_ready, key, settings.data_dir, postgres.dsn, plain))


@contextmanager
def _held(postgres: Embedded) -> Iterator[Embedded]:
    """PostgreSQL on its folder. Raises Said where that folder cannot be had."""
    try:
        postgres.start()
    except OSError as error:
        where = error.filename or postgres.data_dir
        raise Said(
            f"The data folder {postgres.data_dir} cannot be used: {where}: {error.strerror or error}.",
            next="It has to be a folder of yours: name another one with --data-dir.",
        ) from error
    try:
        yield postgres
    finally:
        postgres.stop()


def _look_at_port(settings: Settings) -> None:
    """Say that the port is taken before anything is made. Who holds the folder, if somebody does, is told later."""
    from steadhold.cli.database import running
    from steadhold.server.listening import ListenError, listen

    if running(Path(settings.data_dir)) is not None:
        return
    try:
        listen(settings).close()
    except ListenError as error:
        raise Said(
            str(error),
            next="Does a `steadhold dev` run already? A second one takes --port 0, a free port, and a --data-dir.",
        ) from error


def _ready(key: str, data_dir: str, dsn: str, plain: bool, _app: App, url: str) -> None:  # noqa: FBT001 - bound beforehand
    if plain:
        told = {"url": url, "dashboard": f"{url}/ui", "api_key": key, "data_dir": data_dir, "database_url": dsn}
        click.echo(line({**told, "pid": os.getpid()}))
    else:
        click.echo(banner(url, key, data_dir, dsn))
    sys.stdout.flush()


def banner(url: str, key: str, data_dir: str, dsn: str) -> str:
    """What a person is told once everything stands."""
    elsewhere = "" if url == f"http://127.0.0.1:{DEFAULT_PORT}" else f"  export STEADHOLD_URL={url}\n"
    return f"""
steadhold runs here until you press Ctrl-C.

  server    {url}
  dashboard {url}/ui
  key       {key}
  data      {data_dir}
  database  {dsn}

Try it from another terminal:

{elsewhere}  export STEADHOLD_API_KEY=$(cat {data_dir}/{KEY_FILE})
  steadhold state put greeting '{{"text": "hello"}}' --create
  steadhold state get greeting

The guides are at {url}/docs, and `steadhold --help` lists all commands.
"""
