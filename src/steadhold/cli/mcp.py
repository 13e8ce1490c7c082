"""`steadhold mcp`: the tools of an agent over standard input and output, spoken to a server by its key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from steadhold.cli.connect import addressed, made
from steadhold.cli.exits import FORBIDDEN, USAGE, Said
from steadhold.sdk.errors import BadAnswer, OutcomeUnknown, Problem, Unreachable
from steadhold.sdk.grammar import Send

if TYPE_CHECKING:
    from steadhold.mcp.asking import Answered, Asked
    from steadhold.sdk.client import AsyncClient
    from steadhold.sdk.grammar import Identity, Script

INSTALL: Final = "pip install 'steadhold[mcp]'"


@click.command()
@addressed
def mcp(**where: Any) -> None:
    """Serve an agent over standard input and output (Model Context Protocol), until its client ends it.

    It may do what the key may do, and ends when the key does.
    """
    from steadhold.sdk.client import AsyncClient

    server = made(AsyncClient, where["url"], where["api_key_file"], where["timeout"], where["workspace"])
    if not asyncio.run(_served(server)):
        raise Said("The key is not valid any more.", FORBIDDEN)


async def _served(server: AsyncClient) -> bool:
    try:
        from steadhold.mcp.over_stdio import serve
    except ModuleNotFoundError as error:
        raise Said(f"A door for agents needs {error.name}, which is not installed.", USAGE, next=INSTALL) from error
    async with server:

        async def send(asked: Asked) -> Answered:
            return await sent(server, asked)

        return await serve(send)


async def sent(server: AsyncClient, asked: Asked) -> Answered:
    """Send a request as often as it takes; a refusal, or that nobody knows, is an answer too."""
    from steadhold.mcp.asking import Answered

    try:
        return await server.play(_once(asked))
    except Problem as refused:
        said = refused.said
        told = {"title": said.title, "status": said.status, "detail": said.detail, "code": said.code, "next": said.next}
        headers = {} if said.retry_after is None else {"retry-after": str(int(said.retry_after))}
        return Answered(said.status, headers, msgspec.json.encode({**told, **said.extras}))
    except OutcomeUnknown:
        return Answered(503, {}, b'{"code":"outcome_unknown"}')
    except (Unreachable, BadAnswer) as error:
        return Answered(503, {}, msgspec.json.encode({"code": "unavailable", "detail": str(error)}))


def _once(asked: Asked) -> Script[Answered]:
    from steadhold.mcp.asking import Answered

    identity: Identity = "reading" if asked.method == "GET" else "receipt" if asked.operation_id else "own"
    got = yield Send(
        asked.method, asked.target, asked.headers, asked.body or None, identity, asked.operation_id, asked.wait_seconds
    )
    return Answered(got.status, got.headers, got.body)
