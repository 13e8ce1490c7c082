"""(a) Compare-and-swap: over HTTP without and with receipts, etcd's transaction, and the bare UPDATE by pgbench.

Of a server of as many processes as there are cores, which etcd uses as well, and of one process.
"""

from __future__ import annotations

import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg

from bench import driver, load, stand
from bench.run import Run
from bench.tools import Absent
from steadhold.db import binaries
from steadhold.db.embedded import Embedded

CLIENTS = (1, 64, 256)
SECONDS = 3.0
HOT_CLIENTS = 64
WARM_SECONDS = 1.0


async def take(run: Run, postgres: Embedded, at: Path) -> None:
    """Every system at every number of clients, one after another, as often as the run has rounds."""
    dsn = await driver.new_database(postgres.dsn, "state")
    conn = await asyncpg.connect(dsn)
    await conn.execute(load.TABLE)
    await conn.close()
    with stand.server(dsn, processes=str(stand.CORES)) as served, stand.server(dsn) as one:
        ours = {"steadhold": served, "steadhold_1p": one}
        keys = at / "keys"
        keys.write_text(stand.workspace(served, f"state-{uuid.uuid4().hex[:8]}") + "\n")
        load.over_http(served.port, HOT_CLIENTS, WARM_SECONDS, fresh(), keys, receipts=True)
        await driver.analyzed(dsn)
        try:
            with stand.etcd(at) as port:
                run.about["versions"]["etcd"] = stand.etcd_version()
                _rounds(run, _systems(run, ours, keys, dsn, at, port))
        except Absent as error:
            run.about["etcd"] = str(error)
            _rounds(run, _systems(run, ours, keys, dsn, at, None))


def _rounds(run: Run, systems: dict[str, Callable[[], dict[str, Any]]]) -> None:
    for name, round_ in run.wanted(systems):
        run.keep(name, round_, systems[name]())


def _systems(
    run: Run, ours: dict[str, stand.Served], keys: Path, dsn: str, at: Path, etcd: int | None
) -> dict[str, Callable[[], dict[str, Any]]]:
    seconds = run.seconds(SECONDS)

    def http(
        served: stand.Served, clients: int, work: str = "own", *, receipts: bool = False
    ) -> Callable[[], dict[str, Any]]:
        return lambda: with_commits(
            served,
            lambda: load.over_http(served.port, clients, seconds, fresh(), keys, work=work, receipts=receipts),
        )

    def in_etcd(clients: int, work: str = "own") -> Callable[[], dict[str, Any]]:
        assert etcd is not None
        return lambda: load.on_etcd(etcd, clients, seconds, fresh(), work=work)

    pgbench = binaries.find(None).folder / "pgbench"
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for clients in CLIENTS:
        for name, served in ours.items():
            found[f"{name}_{clients}"] = http(served, clients)
            found[f"{name}_receipts_{clients}"] = http(served, clients, receipts=True)
        if etcd is not None:
            found[f"etcd_{clients}"] = in_etcd(clients)
        found[f"pgbench_{clients}"] = _bare(pgbench, dsn, clients, seconds, at)
    for name, served in ours.items():
        found[f"{name}_hot_{HOT_CLIENTS}"] = http(served, HOT_CLIENTS, "hot")
    if etcd is not None:
        found[f"etcd_hot_{HOT_CLIENTS}"] = in_etcd(HOT_CLIENTS, "hot")
    return found


def _bare(pgbench: Path, dsn: str, clients: int, seconds: float, at: Path) -> Callable[[], dict[str, Any]]:
    return lambda: load.by_pgbench(pgbench, dsn, clients, seconds, at)


def fresh() -> str:
    """A name that nothing was ever written under."""
    return f"bench/{uuid.uuid4().hex}"


def with_commits(served: stand.Served, take_some: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Figures, with how many transactions the server's player committed meanwhile, and of how many calls each."""
    before = _player(served)
    found = take_some()
    after = _player(served)
    flushes = after.get("flushes", 0) - before.get("flushes", 0)
    calls = after.get("calls", 0) - before.get("calls", 0)
    took = found["seconds"] + load.WARM_SECONDS
    return {**found, "commits_per_second": flushes / took, "calls_per_commit": calls / flushes if flushes else 0}


def _player(served: stand.Served) -> dict[str, float]:
    with urllib.request.urlopen(f"{served.url}/metrics", timeout=10) as answer:  # noqa: S310 - loopback
        lines = answer.read().decode().splitlines()
    mark = 'steadhold_player_total{what="'
    return {
        name: float(value)
        for name, _, value in (line[len(mark) :].partition('"} ') for line in lines if line.startswith(mark))
    }
