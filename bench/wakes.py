"""How soon who waits for a lock has it: from the answer to a release, and from its request, to the grant."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

from bench.figures import percentile

WAIT_SECONDS = 20
IDLE_SECONDS = 0.02
"""The waiter has stood in line for so long before the lock is released: nothing else goes on then."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered, and when its head had come."""

    status: int
    body: dict[str, Any]
    at: float


class Wire:
    """A connection of HTTP/1.1 for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str) -> None:
        self._reader, self._writer, self._key = reader, writer, key

    @classmethod
    async def open(cls, port: int, key: str) -> Wire:
        """Connect to a server on loopback."""
        return cls(*await asyncio.open_connection("127.0.0.1", port), key)

    async def ask(
        self, method: str, path: str, body: dict[str, Any] | bytes | None = None, *, kind: str = "application/json"
    ) -> Answer:
        """Send a request, and read its answer; where bytes were sent, its body is not read as anything."""
        said = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._key}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(said)}\r\n\r\n"
        )
        self._writer.write(head.encode() + said)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        at = time.perf_counter()
        length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
        content = await self._reader.readexactly(length)
        told = json.loads(content) if content and not isinstance(body, bytes) else {}
        return Answer(int(lines[0].split()[1]), told, at)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def measured(held_at: int, waits_at: int, key: str, times: int) -> dict[str, Any]:
    """The holder asks the server at one port, who waits the server at another, so often one after another."""
    holder, waiter = await Wire.open(held_at, key), await Wire.open(waits_at, key)
    lock = f"/v1/locks/{uuid.uuid4().hex}"
    try:
        found = [await _once(holder, waiter, lock) for _ in range(times)]
    finally:
        holder.close()
        waiter.close()
    answered, sent = ([pair[n] for pair in found] for n in range(2))
    return {
        "wakes": times,
        "p50_ms": percentile(answered, 0.5),
        "p99_ms": percentile(answered, 0.99),
        "max_ms": max(answered),
        "since_sent_p50_ms": percentile(sent, 0.5),
        "since_sent_p99_ms": percentile(sent, 0.99),
        "delays_ms": answered,
    }


async def _once(holder: Wire, waiter: Wire, lock: str) -> tuple[float, float]:
    held = await holder.ask("POST", f"{lock}/acquire", {"owner": "holder", "ttl_seconds": 60})
    grant = asyncio.create_task(
        waiter.ask("POST", f"{lock}/acquire", {"owner": "waiter", "ttl_seconds": 60, "wait_seconds": WAIT_SECONDS})
    )
    while not (await holder.ask("GET", lock)).body["waiting"]:
        continue
    await asyncio.sleep(IDLE_SECONDS)
    sent = time.perf_counter()
    released = await holder.ask("POST", f"{lock}/release", {"fence": held.body["fence"]})
    granted = await grant
    await waiter.ask("POST", f"{lock}/release", {"fence": granted.body["fence"]})
    return (granted.at - released.at) * 1e3, (granted.at - sent) * 1e3
