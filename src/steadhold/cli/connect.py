"""How commands reach a server: where it is, with which key, for how long; and how a change is named."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from steadhold.cli.amounts import Measure
from steadhold.cli.bodies import text_in
from steadhold.cli.exits import USAGE, Said, refusal, unknown
from steadhold.cli.naming import a_grant, an_id

if TYPE_CHECKING:
    from steadhold.kit.fields import FenceRef
    from steadhold.sdk.client import AsyncClient, Client

C = TypeVar("C", bound="AsyncClient | Client")

TRY_SECONDS_MAX: Final = 15.0
KEYS: Final = "Set STEADHOLD_API_KEY, or name a file with --api-key-file; `steadhold dev` prints its own key."


@contextmanager
def client(url: str | None, key_file: str | None, timeout: float, workspace: str | None) -> Iterator[Client]:
    """A client of the server that options and environment name. Raises Said where they name none."""
    from steadhold.sdk.client import Client

    with made(Client, url, key_file, timeout, workspace) as server, _hinted(server.url):
        yield server


def made(kind: type[C], url: str | None, key_file: str | None, timeout: float, workspace: str | None) -> C:
    """A client of this kind, as `client`."""
    from steadhold.sdk.address import NoKey

    api_key = text_in(key_file).strip() if key_file else None
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


def changes(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `asks`, of a command that changes something: `--fence` besides, once for each grant that it relies on."""

    @fenced
    @asks
    @functools.wraps(command)
    def changed(server: Client, *args: Any, fences: Sequence[FenceRef], **named: Any) -> Any:
        return command(relying(server, fences), *args, **named)

    return changed


def fenced(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--fence`, as `fences`."""
    return click.option(
        "--fence", "fences", type=a_grant, multiple=True, metavar="GRANT=N",
        help="Only while this grant is current, as in lock:deploy=3. Several may be given.",
    )(command)  # fmt: skip


def relying(server: Client, fences: Sequence[FenceRef]) -> Client:
    """The same server, where each change relies on these grants."""
    if not fences:
        return server
    from steadhold.cli.relying import Relying

    return cast("Client", Relying(server, fences))


@contextmanager
def _hinted(url: str) -> Iterator[None]:
    """Say what to do next where that depends on the command and the address, beside what the refusal says itself."""
    from steadhold.sdk.errors import OutcomeUnknown, Problem

    try:
        yield
    except OutcomeUnknown as lost:
        from steadhold.cli.hints import once_more

        raise unknown(lost, once_more(lost, click.get_current_context())) from lost
    except Problem as problem:
        from steadhold.cli.hints import next_step

        if step := next_step(problem, click.get_current_context(), url):
            raise refusal(problem, step) from problem
        raise


def addressed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `url`, `api_key_file`, `timeout` and `workspace`."""
    for option in (
        click.option("--url", metavar="URL", help="The server. [env: STEADHOLD_URL; default: port 8750 here]"),
        click.option(
            "--api-key-file", type=click.Path(exists=True, dir_okay=False), envvar="STEADHOLD_API_KEY_FILE",
            help="A file that holds the key. [env: STEADHOLD_API_KEY holds the key itself]",
        ),
        click.option(
            "--timeout", type=Measure(min=0.1, max=86_400), default=10.0, show_default=True, metavar="SECONDS",
            help="How long to try each request. What waits or watches goes on for longer.",
        ),
        click.option(
            "--workspace", type=an_id, metavar="NAME", help="For operators' keys, which have no workspace of their own."
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def named(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that changes something `--idempotency-key`, as `operation_id`."""
    return _named()(command)


def stepped(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `named`, of a change that may be several requests: it has an id from the start, which begins that of each."""

    def new() -> str:
        from steadhold.kit.ids import new_id

        return new_id()

    return _named(default=new)(command)


def _named(**more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--idempotency-key", "operation_id", type=an_id, metavar="ID",
        help="Name this change: however often it is sent under one id, it takes effect once.", **more,
    )  # fmt: skip
