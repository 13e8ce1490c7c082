"""(e) Locks: acquired and released without a rival, beside etcd and Redis, and how soon who waits has the lock."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import driver, load, stand, wakes
from bench.run import Run
from bench.state import fresh, with_commits
from bench.tools import Absent
from steadhold.db.embedded import Embedded

CLIENTS = 64
SECONDS = 3.0
WAKES = 100

Taker = Callable[[], dict[str, Any]]


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """Pairs in turn with the peers', then wakes by the same server and from one server to another.

    Pairs by as many processes as there are cores, and by one; wakes by servers of one process each.
    """
    dsn = await driver.new_database(postgres.dsn, "locks")
    with ExitStack() as stack:
        many = stack.enter_context(stand.server(dsn, processes=str(stand.CORES)))
        served, other = (stack.enter_context(stand.server(dsn)) for _ in range(2))
        key = stand.workspace(served, f"locks-{uuid.uuid4().hex[:8]}")
        keys = at / "keys-locks"
        keys.write_text(key + "\n")
        pairs = _pairs(run, many, served, keys, at, stack)
        ports = {"wake": served.port, "wake_across": other.port}
        for name, round_ in run.wanted((*pairs, *ports)):
            if name in pairs:
                figures = pairs[name]()
            else:
                figures = await wakes.measured(served.port, ports[name], key, run.scaled(WAKES, least=5))
            run.keep(name, round_, figures)


def _pairs(run: Run, many: stand.Served, one: stand.Served, keys: Path, at: Path, stack: ExitStack) -> dict[str, Taker]:
    seconds = run.seconds(SECONDS)

    def ours(served: stand.Served, *, receipts: bool) -> Taker:
        return lambda: with_commits(
            served,
            lambda: load.over_http(
                served.port, CLIENTS, seconds, uuid.uuid4().hex, keys, work="locks", receipts=receipts
            ),
        )

    return {
        "steadhold": ours(many, receipts=False),
        "steadhold_receipts": ours(many, receipts=True),
        "steadhold_1p": ours(one, receipts=False),
        "steadhold_1p_receipts": ours(one, receipts=True),
        **_etcd(run, at, stack, seconds),
        "redis": _redis(run, at, stack, seconds, always=False),
        "redis_always": _redis(run, at, stack, seconds, always=True),
    }


def _etcd(run: Run, at: Path, stack: ExitStack, seconds: float) -> dict[str, Taker]:
    works = {"etcd": "locks", "etcd_session": "sessions"}
    try:
        port = stack.enter_context(stand.etcd(at))
    except Absent as error:
        return dict.fromkeys(works, _absent(error))
    run.about["versions"]["etcd"] = stand.etcd_version()

    def by(work: str) -> Taker:
        return lambda: load.on_etcd(port, CLIENTS, seconds, fresh(), work=work)

    return {name: by(work) for name, work in works.items()}


def _redis(run: Run, at: Path, stack: ExitStack, seconds: float, *, always: bool) -> Taker:
    try:
        port = stack.enter_context(stand.redis(at, always=always))
    except Absent as error:
        return _absent(error)
    run.about["versions"]["redis"] = stand.redis_version()
    return lambda: load.on_redis(port, CLIENTS, seconds, fresh())


def _absent(why: Absent) -> Taker:
    told = {"absent": str(why)}
    return lambda: told
