"""Runs the load generator (client/) and pgbench, and reads what they say."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench import tools

WARM_SECONDS = 0.5
"""What the load generator does not count: connections open, names are made, caches fill."""

CONNECTIONS_OF_ETCD = 8
"""Clients share so many, which was etcd's best."""

BARE = """\\if :revision = 0
select revision from bench_state where name = 'client/' || :client_id \\gset
\\endif
update bench_state set revision = revision + 1, body = '{"a":1,"b":"hello world"}'
where name = 'client/' || :client_id and revision = :revision returning revision \\gset
"""
BARE_MANY = """\\set name :turn % {names}
\\set turn :turn + 1
update bench_state set revision = revision + 1, body = '{{"a":1,"b":"hello world"}}'
where name = 'client/' || :client_id || '/' || :name returning revision
"""
TABLE = """
drop table if exists bench_state;
create table bench_state (name text primary key, revision bigint not null, body text not null) with (fillfactor = 70);
insert into bench_state select 'client/' || n, 1, '{}' from generate_series(0, 1023) n;
"""
MORE_NAMES = """
insert into bench_state
select 'client/' || n || '/' || m, 1, '{{}}' from generate_series(0, 63) n, generate_series(0, {names} - 1) m;
"""
PROGRESS = re.compile(r"progress: [0-9.]+ s, ([0-9.]+) tps")


def over_http(
    port: int,
    clients: int,
    seconds: float,
    name: str,
    keys: Path,
    *,
    work: str = "own",
    receipts: bool = False,
    slots: int = 1,
) -> dict[str, Any]:
    """Turns of `work` over HTTP (client/main.c tells what they are), each client on a connection of its own."""
    kind = "receipts" if receipts else "plain"
    return _load("http", work, port, clients, clients, seconds, name, slots, kind, keys)


def on_etcd(port: int, clients: int, seconds: float, name: str, *, work: str = "own") -> dict[str, Any]:
    """The same by transactions of etcd; clients share connections."""
    return _load("etcd", work, port, clients, min(clients, CONNECTIONS_OF_ETCD), seconds, name)


def on_redis(port: int, clients: int, seconds: float, name: str, *, work: str = "locks") -> dict[str, Any]:
    """Locks by SET NX PX, or events by XADD, each client on a connection of its own."""
    return _load("redis", work, port, clients, clients, seconds, name)


def on_nats(port: int, clients: int, seconds: float, name: str) -> dict[str, Any]:
    """Events into a stream of JetStream, each client on a connection of its own."""
    return _load("nats", "events", port, clients, clients, seconds, name)


def by_pgbench(program: Path, dsn: str, clients: int, seconds: float, at: Path, *, names: int = 1) -> dict[str, Any]:
    """The bare UPDATE of a row of one's own, or of `names` in turn, one statement a commit, without a server of ours.

    The table must be as `TABLE` leaves it, and `MORE_NAMES` where there are many.
    """
    script = at / "bare.sql"
    script.write_text(BARE if names == 1 else BARE_MANY.format(names=names))
    query = parse_qs(urlsplit(dsn).query)
    where = ("-h", query["host"][0], "-p", query["port"][0], "-U", urlsplit(dsn).username or "", urlsplit(dsn).path[1:])
    threads = str(min(clients, 2))
    command = (
        str(program), "-n", "-M", "prepared", "-c", str(clients), "-j", threads, "-T", str(round(seconds)),
        "-P", "1", "-D", "revision=0", "-D", "turn=0", "-f", str(script), *where,
    )  # fmt: skip
    done = _done(command, seconds)
    told = {name: value for name, _, value in (line.partition(" = ") for line in done.stdout.splitlines())}
    if "tps" not in told:  # pgbench keeps its figures to itself when it has done nothing
        return {"wins_per_second": 0.0, "mean_ms": None, "wins_each_second": []}
    return {
        "wins_per_second": float(told["tps"].split()[0]),
        "mean_ms": float(told["latency average"].split()[0]),
        "wins_each_second": [float(each) for each in PROGRESS.findall(done.stderr)],
    }


def _load(*arguments: object) -> dict[str, Any]:
    seconds = float(str(arguments[5]))
    found = json.loads(_done((str(tools.load_generator()), *map(str, arguments)), seconds).stdout)
    found["wins_per_second"] = found["wins"] / found["seconds"]
    return found


def _done(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 60)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {done.stderr.strip()[-500:] or done.stdout.strip()[-500:]}")
    return done
