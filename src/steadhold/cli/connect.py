"""How commands reach a server: where it is, with which key, for how long; and how a change is named."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from steadhold.cli.exits import USAGE, Said

if TYPE_CHECKING:
    from steadhold.sdk.client import AsyncClient, Client

C = TypeVar("C", bound="AsyncClient | Client")

TRY_SECONDS_MAX: Final = 15.0
KEYS: Final = "Set STEADHOLD_API_KEY, or name a file with --api-key-file; `steadhold dev` prints its own key."


def client(url: str | None, key_file: str | None, timeout: float, workspace: str | None) -> Client:
    """A client of the server that options and environment name. Raises Said when they name none."""
    from steadhold.sdk.client import Client

    return made(Client, url, key_file, timeout, workspace)


def made(kind: type[C], url: str | None, key_file: str | None, timeout: float, workspace: str | None) -> C:
    """A client of this kind, as `client`."""
    from steadhold.sdk.address import NoKey

    api_key = Path(key_file).read_text(encoding="utf-8").strip() if key_file else None
    try:
        return kind(
            url, api_key, timeout=min(timeout, TRY_SECONDS_MAX), give_up_seconds=timeout, workspace=workspace
        )  # fmt: skip
    except NoKey:
        raise no_key() from None
    except ValueError as error:
        raise Said(str(error), USAGE) from error


def no_key() -> Said:
    """What is said where a key is needed: which options and variables hold one."""
    return Said("There is no API key.", USAGE, next=KEYS)


def asks(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which server, and a client of it as its first argument."""

    @addressed
    @functools.wraps(command)
    def asked(
        *args: Any, url: str | None, api_key_file: str | None, timeout: float, workspace: str | None, **named: Any
    ) -> Any:
        with client(url, api_key_file, timeout, workspace) as server:
            return command(server, *args, **named)

    return asked


def addressed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `url`, `api_key_file`, `timeout` and `workspace`."""
    for option in (
        click.option("--url", metavar="URL", help="The server. [env: STEADHOLD_URL; default: port 8750 here]"),
        click.option(
            "--api-key-file", type=click.Path(exists=True, dir_okay=False), envvar="STEADHOLD_API_KEY_FILE",
            help="A file that holds the key. [env: STEADHOLD_API_KEY holds the key itself]",
        ),
        click.option(
            "--timeout", type=click.FloatRange(min=0.1, max=86_400), default=10.0, show_default=True, metavar="SECONDS",
            help="How long to try in all.",
        ),
        click.option("--workspace", metavar="NAME", help="For operators' keys, which have no workspace of their own."),
    ):  # fmt: skip
        command = option(command)
    return command


def named(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that changes something `--idempotency-key`, as `operation_id`."""
    return click.option(
        "--idempotency-key", "operation_id", metavar="ID",
        help="Name this change: however often it is sent under one id, it takes effect once.",
    )(command)  # fmt: skip
