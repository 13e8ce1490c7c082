"""The figures as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.figures import ratio
from bench.floors import Floor, Raw, floors, median_of
from bench.names import (
    COMMIT_CLIENTS,
    CONTEXT_SIZES,
    INBOX_SYSTEMS,
    JOB_SYSTEMS,
    LOCK_SYSTEMS,
    OURS,
    SNAPSHOT_SYSTEMS,
    STATE_CLIENTS,
    STATE_SYSTEMS,
)

HEAD = """# Figures

Medians of the rounds of one interleaved run, written by `make bench`. The raw figures lie beside this page, a file a
part. Load generators share the machine with what they load, so trust the ratios."""


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
        "## Locks, each client its own, 64 clients\n\n" + _locks(raw),
        "## Who waits for a lock, on an idle machine\n\n" + _wakes(raw),
        "## Events into an inbox, 64 clients\n\n" + _inboxes(raw),
        "## Webhooks\n\n" + _webhooks(raw),
        "## Schedules\n\n" + _schedules(raw),
        "## Four operations in one commit, and in four requests\n\n" + _commits(raw),
        "## Effects from plan to outcome, in three requests\n\n" + _effects(raw),
        "## Files of bytes, beside a bare bytea by asyncpg\n\n" + _context(raw),
        "## While a snapshot is held for 60 s\n\n" + _snapshot(raw),
        "## Where and when\n\n" + _where(raw, abouts),
    ]
    return "\n\n".join(parts) + "\n"


def told(raw: Raw, part: str) -> str:
    """The floors of one part, for whoever watches the run."""
    lines = (" | ".join(_floor(each)) for each in floors(raw, part))
    return "\n".join((f"{part} is done", *lines))


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
    for system in ("steadhold", "steadhold_1p", "etcd"):
        name, told = f"{system}_hot_64", STATE_SYSTEMS[system]
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


def _cells(raw: Raw, part: str, name: str, figures: Sequence[str]) -> tuple[str, ...]:
    return tuple(number(median_of(raw, part, name, figure)) for figure in figures)


def _locks(raw: Raw) -> str:
    figures = ("p50_ms", "p99_ms", "commits_per_second")
    etcd = median_of(raw, "locks", "etcd", "wins_per_second")
    rows: list[tuple[str, ...]] = []
    for name, told in LOCK_SYSTEMS.items():
        pairs = median_of(raw, "locks", name, "wins_per_second")
        rows.append((told, number(pairs), number(ratio(pairs, etcd)), *_cells(raw, "locks", name, figures)))
    table = grid(("system", "pairs/s", "times etcd", "p50 ms", "p99 ms", "commits/s"), rows)
    return "\n\n".join((table, *_absent(raw, "locks")))


def _absent(raw: Raw, part: str) -> list[str]:
    found = {name: next((r["absent"] for r in runs if "absent" in r), None) for name, runs in raw.get(part, {}).items()}
    lines = "\n".join(f"- {name}: not measured ({why})" for name, why in found.items() if why)
    return [lines] if lines else []


def _context(raw: Raw) -> str:
    def row(size: str, system: str) -> Iterator[str]:
        for what in ("writes", "reads"):
            rate, bare = (median_of(raw, "context", f"{s}_{size}", f"{what}_per_second") for s in (system, "bare"))
            slow = _cells(raw, "context", f"{system}_{size}", (f"{what}_p50_ms", f"{what}_p99_ms"))
            yield from (number(rate), number(ratio(rate, bare)), *slow)

    rows = [(name, s, *row(size, s)) for size, name in CONTEXT_SIZES.items() for s in ("bare", "hop", "steadhold")]
    told = ("times bare", "p50 ms", "p99 ms")
    seals = [_cells(raw, "context", "sealing_1m", ("seal_p50_ms", "open_p50_ms", "both_ms", "times_the_bytes"))]
    sealed = grid(("1 MiB sealed, ms", "opened, ms", "both, ms", "times the bytes"), seals)
    return f"{grid(('size', 'system', 'writes/s', *told, 'reads/s', *told), rows)}\n\n{sealed}"


def _inboxes(raw: Raw) -> str:
    always = median_of(raw, "inboxes", "nats_always", "wins_per_second")
    rows: list[tuple[str, ...]] = []
    for name, told in INBOX_SYSTEMS.items():
        rate = median_of(raw, "inboxes", name, "wins_per_second")
        cells = _cells(raw, "inboxes", name, ("p50_ms", "p99_ms", "commits_per_second"))
        rows.append((told, number(rate), number(ratio(rate, always)), *cells))
    batch = ("batches of 500 lines, 4 senders", number(median_of(raw, "inboxes", "batch", "events_per_second")))
    names = {"page": "a page of 500 events", "lag": "from a commit to who reads the inbox"}
    others = [(told, *_cells(raw, "inboxes", name, ("p50_ms", "p99_ms"))) for name, told in names.items()]
    return "\n\n".join((
        grid(("system", "events/s", "times NATS that syncs always", "p50 ms", "p99 ms", "commits/s"), rows),
        grid(("what", "events/s", "p50 ms", "p99 ms"), [
            (*batch, *_cells(raw, "inboxes", "batch", ("p50_ms", "p99_ms"))),
            *((told, "", *cells) for told, *cells in others),
        ]),
        *_absent(raw, "inboxes"),
    ))  # fmt: skip


def _wakes(raw: Raw) -> str:
    figures = ("p50_ms", "p99_ms", "max_ms", "since_sent_p50_ms", "since_sent_p99_ms")
    names = {"wake": "at the same server", "wake_across": "at another server"}
    rows = [(told, *_cells(raw, "locks", name, figures)) for name, told in names.items()]
    return grid(("who waits", "p50 ms", "p99 ms", "longest ms", "since the release was sent: p50 ms", "p99 ms"), rows)


def _webhooks(raw: Raw) -> str:
    figures = ("deliveries_per_second", "p50_ms", "p99_ms", "max_ms")
    names = {
        "deliveries": "deliveries to one webhook, 32 at once",
        "deliveries_many": "deliveries to 20 webhooks, 4 at once each",
        "claim": "a claim beside 100,000 deliveries behind blocked ones",
        "lag": "from a commit to the receiver",
        "lag_beside": "the same beside 20 hostile receivers",
    }
    rows = [(told, *_cells(raw, "webhooks", name, figures)) for name, told in names.items()]
    return grid(("what", "deliveries/s", "p50 ms", "p99 ms", "longest ms"), rows)


def _schedules(raw: Raw) -> str:
    ticks = [
        (told, *_cells(raw, "schedules", name, ("p50_ms", "p99_ms", "max_ms")))
        for name, told in {"tick_none": "no schedule", "tick": "100,000 schedules, none due"}.items()
    ]
    due = _cells(
        raw, "schedules", "due",
        ("due", "jobs", "late_p50_seconds", "late_p99_seconds", "late_max_seconds", "all_seen_seconds"),
    )  # fmt: skip
    return "\n\n".join((
        grid(("one tick, beside", "p50 ms", "p99 ms", "longest ms"), ticks),
        grid(("due at one instant", "jobs", "recorded after: p50 s", "p99 s", "latest s", "all seen after s"), [due]),
    ))  # fmt: skip


def _commits(raw: Raw) -> str:
    rows: list[tuple[str, ...]] = []
    for clients in COMMIT_CLIENTS:
        alone = median_of(raw, "commits", f"alone_{clients}", "operations_per_second")
        for name, told in (("together", "one commit of four"), ("alone", "four requests")):
            measured = f"{name}_{clients}"
            rate = median_of(raw, "commits", measured, "operations_per_second")
            turns = _cells(raw, "commits", measured, ("wins_per_second",))
            rows.append((
                str(clients), told, *turns, number(rate), number(ratio(rate, alone)),
                *_cells(raw, "commits", measured, ("p50_ms", "p99_ms")),
            ))  # fmt: skip
    return grid(("clients", "as", "fours/s", "operations/s", "times four requests", "p50 ms of four", "p99 ms"), rows)


def _effects(raw: Raw) -> str:
    figures = ("wins_per_second", "requests_per_second", "p50_ms", "p99_ms", "commits_per_second")
    rows = [
        (str(clients), OURS[system], *_cells(raw, "effects", f"{system}_{clients}", figures))
        for clients in COMMIT_CLIENTS
        for system in ("steadhold", "steadhold_1p")
    ]
    return grid(("clients", "system", "effects/s", "requests/s", "p50 ms of three", "p99 ms", "commits/s"), rows)


def _snapshot(raw: Raw) -> str:
    figures = ("before_per_second", "last_seconds_per_second", "cost")
    rows = [
        (SNAPSHOT_SYSTEMS.get(name, name), *_cells(raw, "snapshot", name, figures)) for name in raw.get("snapshot", {})
    ]
    return grid(("what, at full speed", "per second before", "in the last 10 s", "share lost"), rows)


def _where(raw: Raw, abouts: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (
            part,
            _rounds(raw.get(part, {})),
            str(about["commit"]),
            ", ".join(f"{name} {value}" for name, value in about["machine"].items()),
            ", ".join(f"{name} {value}" for name, value in about["versions"].items()),
        )
        for part, about in abouts.items()
    ]
    return grid(("part", "rounds", "commit", "machine", "versions"), rows)


def _rounds(measured: Mapping[str, Sequence[object]]) -> str:
    counts = sorted({len(runs) for runs in measured.values()})
    return " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "none"
