"""(g) Files of bytes: written and read over HTTP, beside a bare `bytea` of the same size by asyncpg, in turn.

Both keep what they answered; a file beside its bytes has a revision, a digest, a condition and its part of a quota.
The bare `bytea` is read through a hop of HTTP besides, which does nothing else: what a read over HTTP could be at best.
"""

from __future__ import annotations

import asyncio
import functools
import os
import socket
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg

from bench import driver, stand
from bench.figures import percentile
from bench.run import Run
from steadhold.db.embedded import Embedded
from steadhold.envelopes import Bound, Keyring, open_envelope, seal
from steadhold.server.memory import keep_what_is_freed

SIZES: Final = {"1k": 1024, "1m": 1024 * 1024, "16m": 16 * 1024 * 1024}
CLIENTS: Final = {"1k": 16, "1m": 4, "16m": 2}
SECONDS: Final = 4.0
SEALINGS: Final = 50
HEAD_BYTES_MAX: Final = 16 * 1024

Act = Callable[[str], Awaitable[None]]
"""Writes or reads one thing of this name."""


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """By size: bare rows, the same behind a hop, and files; written and then read again, round by round."""
    del at
    keep_what_is_freed()  # as a server of ours does: the driver asks for the memory of each row
    dsn = await driver.new_database(postgres.dsn, "context")
    with ExitStack() as stack:
        served = stack.enter_context(stand.server(dsn))
        key = stand.workspace(served, f"context-{uuid.uuid4().hex[:8]}")
        conn = await asyncpg.connect(dsn)
        await conn.execute("create table bare (name text primary key, bytes bytea not null)")
        await conn.execute("alter table bare alter column bytes set storage external")
        await conn.close()
        hop = stack.enter_context(stand.hop(dsn))
        systems: dict[str, Callable[[bytes], Any]] = {
            "bare": lambda body: bare(dsn, body),
            "hop": lambda body: handed_on(dsn, hop, body),
            "steadhold": lambda body: files(served.port, key, body),
        }
        for name, round_ in run.wanted([f"{system}_{size}" for size in SIZES for system in systems]):
            system, _, size = name.partition("_")
            opened = functools.partial(systems[system], os.urandom(SIZES[size]))
            run.keep(name, round_, await _measured(opened, CLIENTS[size], run.seconds(SECONDS), SIZES[size]))
    for name, round_ in run.wanted(("sealing_1m",)):
        run.keep(name, round_, sealing(SIZES["1m"]))


def sealing(size: int) -> dict[str, Any]:
    """What a private client does beside: seal so many bytes, and open them."""
    keys, body = Keyring.generate(), os.urandom(size)
    bound = Bound(workspace="w", kind="context", name="file", content_type="application/octet-stream", revision=1)
    took: dict[str, list[float]] = {"seal": [], "open": []}
    for _ in range(SEALINGS):
        began = time.perf_counter()
        envelope = seal(keys, bound, body)
        sealed = time.perf_counter()
        open_envelope(keys, bound, envelope)
        took["seal"].append(sealed - began)
        took["open"].append(time.perf_counter() - sealed)
    medians = {f"{what}_p50_ms": (percentile(each, 0.5) or 0) * 1e3 for what, each in took.items()}
    return {**medians, "both_ms": sum(medians.values()), "times_the_bytes": len(envelope) / size}


async def _measured(opened: Callable[[], Any], clients: int, seconds: float, size: int) -> dict[str, Any]:
    """So many clients write one after another, then read what they wrote for as long."""
    made: list[list[str]] = [[] for _ in range(clients)]
    wrote, read = list[float](), list[float]()

    async def one(names: list[str]) -> None:
        async with opened() as (write, look):
            until = time.perf_counter() + seconds
            while time.perf_counter() < until or not names:
                names.append(uuid.uuid4().hex)
                await _timed(write, names[-1], wrote)
            await barrier.wait()
            until = time.perf_counter() + seconds
            for n in range(10**9):
                if n and time.perf_counter() >= until:
                    break
                await _timed(look, names[n % len(names)], read)

    barrier = asyncio.Barrier(clients)
    await asyncio.gather(*(one(names) for names in made))
    return {**_rates("writes", wrote, clients, size), **_rates("reads", read, clients, size)}


async def _timed(act: Act, name: str, took: list[float]) -> None:
    began = time.perf_counter()
    await act(name)
    took.append(time.perf_counter() - began)


def _rates(what: str, took: list[float], clients: int, size: int) -> dict[str, Any]:
    rate = len(took) * clients / sum(took)
    return {
        what: len(took),
        f"{what}_per_second": rate,
        f"{what}_mib_per_second": rate * size / 2**20,
        f"{what}_p50_ms": (percentile(took, 0.5) or 0) * 1e3,
        f"{what}_p99_ms": (percentile(took, 0.99) or 0) * 1e3,
    }


@asynccontextmanager
async def bare(dsn: str, body: bytes) -> AsyncIterator[tuple[Act, Act]]:
    """Rows of a plain table, each in a transaction of its own."""
    conn = await asyncpg.connect(dsn)

    async def write(name: str) -> None:
        await conn.execute("insert into bare (name, bytes) values ($1, $2)", name, body)

    async def read(name: str) -> None:
        assert await conn.fetchval("select bytes from bare where name = $1", name) == body

    try:
        yield write, read
    finally:
        await conn.close()


@asynccontextmanager
async def handed_on(dsn: str, port: int, body: bytes) -> AsyncIterator[tuple[Act, Act]]:
    """Rows of the plain table, read through a hop of HTTP that does nothing else."""
    async with bare(dsn, body) as (write, _), files(port, "", body) as (_, read):
        yield write, read


@asynccontextmanager
async def files(port: int, key: str, body: bytes) -> AsyncIterator[tuple[Act, Act]]:
    """Files over one connection of HTTP/1.1, each answer read into one buffer, as asyncpg reads its rows."""
    loop = asyncio.get_running_loop()
    buffer = bytearray(len(body) + HEAD_BYTES_MAX)
    view = memoryview(buffer)
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setblocking(False)

    async def more(there: int) -> int:
        came = await loop.sock_recv_into(sock, view[there:])
        if not came:
            raise ConnectionResetError
        return there + came

    async def ask(method: str, name: str, fields: str, sent: bytes = b"") -> tuple[int, int]:
        """The status, and where in the buffer the whole body begins."""
        head = f"{method} /v1/context/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n{fields}\r\n"
        await loop.sock_sendall(sock, head.encode() + sent)
        there = await more(0)
        while (end := buffer.find(b"\r\n\r\n", 0, there)) < 0:
            there = await more(there)
        lines = buffer[:end].decode().lower().split("\r\n")
        whole = end + 4 + next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        while there < whole:
            there = await more(there)
        return int(lines[0].split()[1]), end + 4

    async def write(name: str) -> None:
        fields = f"If-None-Match: *\r\nContent-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n"
        status, _ = await ask("PUT", name, fields, body)
        assert status == 201, status

    async def read(name: str) -> None:
        status, begins = await ask("GET", name, "")
        assert status == 200
        assert buffer.startswith(body, begins)

    try:
        yield write, read
    finally:
        sock.close()
