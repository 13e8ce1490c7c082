"""What type checkers know of the two clients. This file is checked and never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Generator
from typing import Any, assert_type

from steadhold import AsyncClient, Client
from steadhold.kit.fields import FenceRef
from steadhold.sdk.job_shapes import Claimed, Job, Settled, Submitted
from steadhold.sdk.operations import Receipt
from steadhold.sdk.state import Absent, Name, State, Written


def a_client_answers(client: Client) -> None:
    assert_type(client.state.get("a"), State)
    assert_type(client.state.put("a", {"n": 1}, if_revision=1, fences=[FenceRef("job:j", 1)]), Written)
    assert_type(client.state.update("a", lambda n: n + 1, create=0), State)
    assert_type(client.state.names("team"), Generator[Name, None, None])
    assert_type(client.state.watch("a"), Generator[State | Absent, None, None])
    assert_type(client.jobs.submit("resize", {"file": "a"}), Submitted)
    assert_type(client.jobs.claim("worker", ["resize"]), list[Claimed])
    assert_type(client.jobs.list(state="failed"), Generator[Job, None, None])
    assert_type(client.operations.resolve("id"), Receipt)


async def an_asynchronous_client_is_awaited(client: AsyncClient) -> None:
    read = assert_type(client.state.get("a"), Coroutine[Any, Any, State])
    assert_type(await read, State)
    assert_type(await client.state.put("a", {"n": 1}, if_revision=1), Written)
    assert_type(client.state.names("team"), AsyncGenerator[Name, None])
    assert_type([each async for each in client.state.watch("a")], list[State | Absent])
    assert_type(await client.jobs.submit("resize", {"file": "a"}), Submitted)
    assert_type(await client.jobs.complete("id", 7, None), Settled)
    assert_type(await client.operations.resolve("id"), Receipt)


def wrong_arguments_are_errors(client: Client, awaited: AsyncClient) -> None:
    # An ignore that silences nothing is an error of its own, so each of these must be one.
    client.state.put("a", 1)  # pyright: ignore[reportCallIssue]
    client.state.put("a", object(), if_revision=1)  # pyright: ignore[reportArgumentType]
    client.state.get(7)  # pyright: ignore[reportArgumentType]
    client.state.overwrite("a", 1)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    awaited.state.put("a", 1)  # pyright: ignore[reportCallIssue]
    client.jobs.list(state="lost")  # pyright: ignore[reportArgumentType]
