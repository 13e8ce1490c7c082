"""The figures as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.figures import ratio
from bench.floors import PEERS as JOB_PEERS
from bench.floors import Floor, Raw, floors, median_of

HEAD = """# Figures

Medians of the rounds of one interleaved run, written by `make bench`. The raw figures lie beside this page, a file a
part. Load generators share the machine with what they load, so trust the ratios."""

STATE_CLIENTS = (1, 64, 256)
STATE_SYSTEMS = {
    "steadhold": "steadhold, HTTP",
    "steadhold_receipts": "steadhold, HTTP, operation ids",
    "etcd": "etcd, gRPC transaction",
    "pgbench": "pgbench, bare UPDATE",
}
JOB_SYSTEMS = ("steadhold", "steadhold_http", *JOB_PEERS)


def number(value: float | None) -> str:
    """A figure with about three digits that mean something; a dash where there is none."""
    if value is None:
        return "-"
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(raw: Raw, abouts: Mapping[str, Mapping[str, Any]]) -> str:
    """Everything that was measured, the floors first."""
    parts = [
        HEAD,
        "## Floors\n\n" + grid(("floor", "wanted", "measured", "met"), [_floor(each) for each in floors(raw)]),
        "## State: compare-and-swap\n\n" + _state(raw),
        "## One hot name, 64 clients\n\n" + _hot(raw),
        "## 64 clients over 64 workspaces\n\n" + _workspaces(raw),
        "## Jobs whose handler does nothing\n\n" + _jobs(raw),
        "## While a snapshot is held for 60 s\n\n" + _snapshot(raw),
        "## Where and when\n\n" + _where(abouts),
    ]
    return "\n\n".join(parts) + "\n"


def _floor(floor: Floor) -> tuple[str, ...]:
    sign = "≥" if floor.at_least else "≤"
    met = {True: "yes", False: "**no**", None: "not measured"}[floor.met]
    return floor.what, f"{sign} {floor.wanted:g}", number(floor.is_), met


def _state(raw: Raw) -> str:
    rows: list[tuple[str, ...]] = []
    for clients in STATE_CLIENTS:
        etcd = median_of(raw, "state", f"etcd_{clients}", "wins_per_second")
        for system, told in STATE_SYSTEMS.items():
            name = f"{system}_{clients}"
            wins = median_of(raw, "state", name, "wins_per_second")
            slow = [median_of(raw, "state", name, figure) for figure in ("p50_ms", "p99_ms")]
            commits = median_of(raw, "state", name, "commits_per_second")
            rows.append(
                (str(clients), told, number(wins), number(ratio(wins, etcd)), *map(number, slow), number(commits))
            )
    return grid(("clients", "system", "writes/s", "times etcd", "p50 ms", "p99 ms", "commits/s"), rows)


def _hot(raw: Raw) -> str:
    rows: list[tuple[str, ...]] = []
    for name, told in (("steadhold_hot_64", STATE_SYSTEMS["steadhold"]), ("etcd_hot_64", STATE_SYSTEMS["etcd"])):
        wins = median_of(raw, "state", name, "wins_per_second")
        commits = median_of(raw, "state", name, "commits_per_second")
        losses = median_of(raw, "state", name, "losses")
        rows.append((told, number(wins), number(commits), number(ratio(wins, commits)), number(losses)))
    return grid(("system", "wins/s", "commits/s", "wins by commits", "losses in the run"), rows)


def _workspaces(raw: Raw) -> str:
    rows: list[tuple[str, ...]] = []
    for end, told in (("", "without"), ("_receipts", "with")):
        one = median_of(raw, "workspaces", f"one_workspace{end}", "wins_per_second")
        for name in (f"one_workspace{end}", f"many_workspaces{end}"):
            wins = median_of(raw, "workspaces", name, "wins_per_second")
            more = [median_of(raw, "workspaces", name, figure) for figure in ("p50_ms", "p99_ms", "commits_per_second")]
            over = "64" if name.startswith("many") else "1"
            rows.append((over, told, number(wins), number(ratio(wins, one)), *map(number, more)))
    return grid(
        ("workspaces", "operation ids", "writes/s", "times one workspace", "p50 ms", "p99 ms", "commits/s"), rows
    )


def _jobs(raw: Raw) -> str:
    figures = (
        "enqueued_per_second", "drained_per_second", "start_p50_ms", "start_p99_ms", "wal_bytes_per_job_enqueue",
        "wal_bytes_per_job_drain", "writing_transactions_per_job", "dead_tuples_per_job",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    routes: list[str] = []
    for name in JOB_SYSTEMS:
        runs = raw.get("jobs", {}).get(name, ())
        if absent := next((run["absent"] for run in runs if "absent" in run), None):
            routes.append(f"- {name}: not measured ({absent})")
        elif runs:
            rows.append((name, *(number(median_of(raw, "jobs", name, figure)) for figure in figures)))
            routes.append(
                f"- {name}: enqueued by {runs[0]['route']}; drained by {runs[0]['worker']}; {runs[0]['jobs']} jobs"
            )
    head = (
        "system", "enqueued/s", "drained/s", "start p50 ms", "start p99 ms", "WAL bytes/job in", "WAL bytes/job out",
        "writing transactions/job", "dead tuples/job",
    )  # fmt: skip
    return grid(head, rows) + "\n\n" + "\n".join(routes)


def _snapshot(raw: Raw) -> str:
    figures = ("before_per_second", "last_seconds_per_second", "cost")
    rows = [
        (name, *(number(median_of(raw, "snapshot", name, figure)) for figure in figures))
        for name in raw.get("snapshot", {})
    ]
    return grid(("what, at full speed", "per second before", "in the last 10 s", "share lost"), rows)


def _where(abouts: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (
            part,
            str(about["commit"]),
            ", ".join(f"{name} {value}" for name, value in about["machine"].items()),
            ", ".join(f"{name} {value}" for name, value in about["versions"].items()),
        )
        for part, about in abouts.items()
    ]
    return grid(("part", "commit", "machine", "versions"), rows)
