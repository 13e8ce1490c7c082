"""Runs the load generator (load.c) and pgbench, and reads what they say."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench import tools

WARM_SECONDS = 0.5
"""What load.c does not count: connections open, names are made, caches fill."""

BARE = """\\if :revision = 0
select revision from bench_state where name = 'client/' || :client_id \\gset
\\endif
update bench_state set revision = revision + 1, body = '{"a":1,"b":"hello world"}'
where name = 'client/' || :client_id and revision = :revision returning revision \\gset
"""
TABLE = """
drop table if exists bench_state;
create table bench_state (name text primary key, revision bigint not null, body text not null) with (fillfactor = 70);
insert into bench_state select 'client/' || n, 1, '{}' from generate_series(0, 1023) n;
"""


def over_http(
    port: int, clients: int, seconds: float, name: str, keys: Path, *, receipts: bool, hot: bool
) -> dict[str, Any]:
    """Compare-and-swap by PUT with If-Match; each client has a connection and, unless `hot`, a name of its own."""
    kind = "receipts" if receipts else "plain"
    return _load("http", port, clients, clients, seconds, name, "hot" if hot else "own", kind, keys)


def on_etcd(port: int, clients: int, connections: int, seconds: float, name: str, *, hot: bool) -> dict[str, Any]:
    """The same by transactions of etcd; clients share connections."""
    return _load("etcd", port, clients, min(clients, connections), seconds, name, "hot" if hot else "own")


def by_pgbench(program: Path, dsn: str, clients: int, seconds: float, at: Path) -> dict[str, Any]:
    """The bare UPDATE of a row of one's own, one statement a commit, without any server of ours."""
    script = at / "bare.sql"
    script.write_text(BARE)
    query = parse_qs(urlsplit(dsn).query)
    where = ("-h", query["host"][0], "-p", query["port"][0], "-U", urlsplit(dsn).username or "", urlsplit(dsn).path[1:])
    threads = str(min(clients, 2))
    command = (
        str(program), "-n", "-M", "prepared", "-c", str(clients), "-j", threads, "-T", str(round(seconds)),
        "-D", "revision=0", "-f", str(script), *where,
    )  # fmt: skip
    said = _said(command, seconds)
    told = {name: value for name, _, value in (line.partition(" = ") for line in said.splitlines())}
    rate = float(told["tps"].split()[0])
    return {"wins_per_second": rate, "mean_ms": float(told["latency average"].split()[0])}


def _load(*arguments: object) -> dict[str, Any]:
    seconds = float(str(arguments[4]))
    found = json.loads(_said((str(tools.load_generator()), *map(str, arguments)), seconds))
    found["wins_per_second"] = found["wins"] / found["seconds"]
    return found


def _said(command: Sequence[str], seconds: float) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 60)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {done.stderr.strip()[-500:] or done.stdout.strip()[-500:]}")
    return done.stdout
