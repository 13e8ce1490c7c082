"""What the figures must come to, and whether they do. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.figures import medians, ratio

PEERS = ("awa", "pgqueuer", "procrastinate", "dbos", "absurd", "oban")
HELD = (*(name for name in PEERS if name != "pgqueuer"), "pgqueuer_100")
"""Those that run 100 jobs at once and no more, as ours does."""

Raw = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
"""part → what was measured → the figures of each round."""


@dataclass(frozen=True, slots=True)
class Floor:
    """One floor. `is_` None: not measured. `at_least`: the figure may not be below `wanted`; otherwise not above."""

    what: str
    wanted: float
    is_: float | None
    at_least: bool = True

    @property
    def met(self) -> bool | None:
        """Whether it holds; None where it was not measured."""
        if self.is_ is None:
            return None
        return self.is_ >= self.wanted if self.at_least else self.is_ <= self.wanted


def median_of(raw: Raw, part: str, name: str, figure: str) -> float | None:
    """The median of one figure over the rounds; None where it was not measured."""
    return medians(raw.get(part, {}).get(name, ())).get(figure)


def floors(raw: Raw, part: str | None = None) -> list[Floor]:
    """All floors, in the order of the parts, or those of one part."""
    return [floor for name, found in OF_PART.items() if part in {None, name} for floor in found(raw)]


def best_peer(raw: Raw, figure: str, names: Sequence[str] = PEERS) -> tuple[str, float] | None:
    """The peer that is best at something, and its figure."""
    found = [(name, value) for name in names if (value := median_of(raw, "jobs", name, figure)) is not None]
    return max(found, key=lambda pair: pair[1], default=None)


def _state(raw: Raw) -> list[Floor]:
    def wins(name: str) -> float | None:
        return median_of(raw, "state", name, "wins_per_second")

    found: list[Floor] = []
    for clients, plain, receipts, p99 in ((64, 1.3, 0.7, 40), (256, 1.5, 1.0, 90)):
        etcd = wins(f"etcd_{clients}")
        ours, with_receipts = wins(f"steadhold_{clients}"), wins(f"steadhold_receipts_{clients}")
        found.append(Floor(f"state CAS at {clients} clients, times etcd", plain, ratio(ours, etcd)))
        found.append(Floor("the same with an operation id, times etcd", receipts, ratio(with_receipts, etcd)))
        for name in (f"steadhold_{clients}", f"steadhold_receipts_{clients}"):
            slow = median_of(raw, "state", name, "p99_ms")
            found.append(Floor(f"p99 of {name}, ms", p99, slow, at_least=False))
    commits = median_of(raw, "state", "steadhold_hot_64", "commits_per_second")
    found.append(Floor("one hot name: wins by commits of the same run", 0.5, ratio(wins("steadhold_hot_64"), commits)))
    return found


def _jobs(raw: Raw) -> list[Floor]:
    def figure(name: str, what: str) -> float | None:
        return median_of(raw, "jobs", name, what)

    drained = figure("steadhold", "drained_per_second")
    best, held = (best_peer(raw, "drained_per_second", names) for names in (PEERS, HELD))
    times = ratio(drained, best[1] if best else None)
    level = ratio(drained, held[1] if held else None)
    return [
        Floor(f"jobs drained, times the best Python peer ({best[0] if best else 'none'})", 1.5, times),
        Floor(f"the same, of those that run 100 at once at most ({held[0] if held else 'none'})", 1.5, level),
        Floor("start latency p99 at low load, ms", 15, figure("steadhold", "start_p99_ms"), at_least=False),
        Floor("enqueued per second, library", 20_000, figure("steadhold", "enqueued_per_second")),
        Floor("enqueued per second, HTTP batch", 8_000, figure("steadhold_http", "enqueued_per_second")),
    ]


def _locks(raw: Raw) -> list[Floor]:
    def pairs(name: str) -> float | None:
        return median_of(raw, "locks", name, "wins_per_second")

    waits = {"wake": "by the same server", "wake_across": "by another server"}
    return [
        Floor("locks acquired and released at 64 clients, times etcd", 1.5, ratio(pairs("steadhold"), pairs("etcd"))),
        *(
            Floor(
                f"p99 from a release to who waits, {told}, ms", 20, median_of(raw, "locks", name, "p99_ms"),
                at_least=False,
            )
            for name, told in waits.items()
        ),
    ]  # fmt: skip


def _inboxes(raw: Raw) -> list[Floor]:
    def figure(name: str, what: str = "wins_per_second") -> float | None:
        return median_of(raw, "inboxes", name, what)

    hot, by_one = figure("steadhold"), figure("steadhold_1p")
    slow = [
        ("one hot inbox, 64 clients: p99, ms", 50, figure("steadhold", "p99_ms")),
        ("a page of 500 events, p50, ms", 5, figure("page", "p50_ms")),
        ("from a commit to who reads the inbox, p99, ms", 200, figure("lag", "p99_ms")),
    ]
    return [
        Floor("events per second into one hot inbox, 64 clients", 5_000, hot),
        Floor("the same, times NATS JetStream that syncs always", 2.5, ratio(hot, figure("nats_always"))),
        Floor("the same by a server of one process, times that NATS", 2.5, ratio(by_one, figure("nats_always"))),
        Floor("events per second in batches of 500 lines", 20_000, figure("batch", "events_per_second")),
        *(Floor(what, wanted, is_, at_least=False) for what, wanted, is_ in slow),
    ]


def _webhooks(raw: Raw) -> list[Floor]:
    def figure(name: str, what: str) -> float | None:
        return median_of(raw, "webhooks", name, what)

    alone, beside = figure("lag", "p99_ms"), figure("lag_beside", "p99_ms")
    slow = [
        ("a claim beside 100,000 deliveries behind blocked ones, p99, ms", 10, figure("claim", "p99_ms")),
        ("from a commit to a webhook's receiver, p99, ms", 200, alone),
        ("the same beside 20 hostile receivers, times alone", 2, ratio(beside, alone)),
    ]
    return [
        Floor("webhook deliveries per second to one receiver", 300, figure("deliveries", "deliveries_per_second")),
        *(Floor(what, wanted, is_, at_least=False) for what, wanted, is_ in slow),
    ]


def _schedules(raw: Raw) -> list[Floor]:
    tick = median_of(raw, "schedules", "tick", "p50_ms")
    late = median_of(raw, "schedules", "due", "late_max_seconds")
    seen = median_of(raw, "schedules", "due", "all_seen_seconds")
    missing = ratio(median_of(raw, "schedules", "due", "jobs"), median_of(raw, "schedules", "due", "due"))
    return [
        Floor("a tick beside 100,000 schedules of which none is due, ms", 5, tick, at_least=False),
        Floor("1,000 schedules due at once: the latest is recorded after, s", 1, late, at_least=False),
        Floor("the same until all jobs are there to be seen, s", 1, seen, at_least=False),
        Floor("the same: jobs by schedules", 1, missing),
    ]


def _effects(raw: Raw) -> list[Floor]:
    whole = median_of(raw, "effects", "steadhold_64", "wins_per_second")
    return [Floor("effects from plan to outcome per second, 64 clients", 1_000, whole)]


def _context(raw: Raw) -> list[Floor]:
    def times(figure: str) -> float | None:
        bare = median_of(raw, "context", "bare_1m", figure)
        return ratio(median_of(raw, "context", "steadhold_1m", figure), bare)

    return [
        Floor("files of 1 MiB written over HTTP, times a bare bytea", 0.5, times("writes_per_second")),
        Floor("the same read", 0.7, times("reads_per_second")),
        Floor("1 MiB sealed and opened, ms", 40, median_of(raw, "context", "sealing_1m", "both_ms"), at_least=False),
    ]


def _snapshot(raw: Raw) -> list[Floor]:
    told = {"state": "state", "state_receipts": "state with operation ids", "steadhold": "jobs, worker on PostgreSQL"}
    return [
        Floor(
            f"cost of a snapshot held for 60 s: {what}", 0.25, median_of(raw, "snapshot", name, "cost"), at_least=False
        )
        for name, what in told.items()
    ]


def _dashboard(raw: Raw) -> list[Floor]:
    return [
        Floor(
            f"overview of a million jobs and events {how}, ms", 150, median_of(raw, "dashboard", name, "page_p50_ms"),
            at_least=False,
        )
        for name, how in (("made", "as made"), ("vacuumed", "vacuumed"))
    ]  # fmt: skip


def _rest(raw: Raw) -> list[Floor]:
    return [
        Floor("server at rest, MB", 120, median_of(raw, "rest", "rest", "rss_mb"), at_least=False),
        Floor("steadhold --help, s", 0.3, median_of(raw, "rest", "rest", "help_seconds"), at_least=False),
        Floor("queries per second when idle", 2, median_of(raw, "rest", "rest", "queries_per_second"), at_least=False),
        Floor("metrics with 100,000 jobs, ms", 20, median_of(raw, "rest", "metrics", "p50_ms"), at_least=False),
        Floor(
            "the same where all are ready, ms", 30, median_of(raw, "rest", "metrics_ready", "p50_ms"), at_least=False
        ),
    ]


def _revocation(raw: Raw) -> list[Floor]:
    told = {"request": "requests", "poll": "long polls", "stream": "streams", "session": "sessions of the dashboard"}
    return [
        Floor(
            f"a key is revoked at another server: {what} end at the latest after, s", 5,
            median_of(raw, "revocation", "revocation", f"{kind}_max_seconds"), at_least=False,
        )
        for kind, what in told.items()
    ]  # fmt: skip


OF_PART: Final[Mapping[str, Callable[[Raw], list[Floor]]]] = {
    "state": _state,
    "jobs": _jobs,
    "locks": _locks,
    "inboxes": _inboxes,
    "webhooks": _webhooks,
    "schedules": _schedules,
    "effects": _effects,
    "context": _context,
    "snapshot": _snapshot,
    "dashboard": _dashboard,
    "rest": _rest,
    "revocation": _revocation,
}
