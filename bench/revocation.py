"""How soon a revoked key serves nobody any more: requests, long polls, streams and sessions at another server."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from typing import Any

from bench import driver, stand
from bench.dashboard import signed_in
from bench.figures import percentile
from bench.run import Run
from steadhold import Client
from steadhold.access.authenticate import TRUSTED_SECONDS
from steadhold.db.embedded import Embedded

MANY = 20
TIMES = 10
ASKED_EACH_SECONDS = 0.01
UNDER_WAY_SECONDS = 0.5
"""For so long all stand before a key is revoked, and each time a share longer of what a server remembers a key for."""

Wait = Callable[[http.client.HTTPConnection, Callable[[], object]], None]


async def take(run: Run, postgres: Embedded) -> None:
    """Again and again within a round, each time with a key of its own."""
    for name, round_ in run.wanted(("revocation",)):
        dsn = await driver.new_database(postgres.dsn, "revocation")
        with stand.server(dsn) as here, stand.server(dsn) as there:
            run.keep(name, round_, _taken(here, there, stand.workspace(here, "revocation"), run.scaled(TIMES, least=1)))


def _taken(here: stand.Served, there: stand.Served, key: str, times: int) -> dict[str, Any]:
    took: dict[str, list[float]] = {}
    with Client(here.url, key) as client:
        client.inboxes["followed"].create()
        for n in range(times):
            for kind, seconds in _revoked(client, there, UNDER_WAY_SECONDS + n * TRUSTED_SECONDS / times):
                took.setdefault(kind, []).append(seconds)
    figures = {f"{kind}_p50_seconds": percentile(found, 0.5) for kind, found in took.items()}
    return {**figures, **{f"{kind}_max_seconds": max(found) for kind, found in took.items()}}


def _revoked(client: Client, there: stand.Served, under_way: float) -> Iterator[tuple[str, float]]:
    """One key, used in every way at one server, and revoked at another: what ended, and how long after the answer."""
    made = client.keys.create("bench", "person", ["*:*"])
    bearer = {"Authorization": f"Bearer {made.key}"}
    with _connected(there.port) as browser:
        cookie = signed_in(browser, made.key)
    waits: list[tuple[str, Wait]] = [
        *[("poll", _polled(bearer))] * MANY,
        *[("stream", _followed(bearer))] * MANY,
        ("request", _asked("/v1/inboxes/followed", bearer)),
        ("session", _asked("/ui", cookie)),
    ]
    barrier = Barrier(len(waits) + 1)
    with ThreadPoolExecutor(len(waits)) as pool:
        ends = [(kind, pool.submit(_ended, there.port, wait, barrier)) for kind, wait in waits]
        _all_there(barrier, [end for _, end in ends])
        time.sleep(under_way)
        client.keys.revoke(made.key_id)
        revoked_at = time.perf_counter()
        for kind, end in ends:
            yield kind, max(0.0, end.result() - revoked_at)


def _all_there(barrier: Barrier, ends: list[Future[float]]) -> None:
    """Wait until each is under way; what broke one before is raised instead."""
    try:
        barrier.wait(60)
    except Exception:
        for end in ends:
            end.result()
        raise


def _ended(port: int, wait: Wait, barrier: Barrier) -> float:
    with _connected(port) as conn:
        try:
            wait(conn, barrier.wait)
        except BaseException:
            barrier.abort()
            raise
        return time.perf_counter()


def _connected(port: int) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60))


def _polled(fields: dict[str, str]) -> Wait:
    """A long poll, over once it was answered; how long it may wait is more than this takes."""

    def wait(conn: http.client.HTTPConnection, under_way: Callable[[], object]) -> None:
        conn.request("GET", "/v1/inboxes/followed/events?wait_seconds=30", headers=fields)
        under_way()
        answer = conn.getresponse()
        answer.read()
        if answer.status != 401:
            raise RuntimeError(f"a long poll was answered {answer.status}")

    return wait


def _followed(fields: dict[str, str]) -> Wait:
    """A stream, until it ends or is cut."""

    def wait(conn: http.client.HTTPConnection, under_way: Callable[[], object]) -> None:
        conn.request("GET", "/v1/inboxes/followed/stream", headers=fields)
        answer = conn.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"a stream was answered {answer.status}")
        under_way()
        try:
            while answer.read1():
                pass
        except (http.client.HTTPException, ConnectionError):
            pass

    return wait


def _asked(path: str, fields: dict[str, str]) -> Wait:
    """Requests, one after the other, until one is not answered any more as the first was."""

    def wait(conn: http.client.HTTPConnection, under_way: Callable[[], object]) -> None:
        first = _status(conn, path, fields)
        if first != 200:
            raise RuntimeError(f"{path} was answered {first}")
        under_way()
        while _status(conn, path, fields) == 200:
            time.sleep(ASKED_EACH_SECONDS)

    return wait


def _status(conn: http.client.HTTPConnection, path: str, fields: dict[str, str]) -> int:
    conn.request("GET", path, headers=fields)
    answer = conn.getresponse()
    answer.read()
    return answer.status
