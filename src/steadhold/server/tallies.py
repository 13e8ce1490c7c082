"""What is counted, as Prometheus reads it."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample as Shown

from steadhold.server.logs import WRITING
from steadhold.server.processes.sums import Counts, Family, Sample
from steadhold.telemetry.gauges import FAMILIES
from steadhold.telemetry.spans import ENDING
from steadhold.web.above import Seen

TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Gauges = Callable[[], Mapping[str, float]]


class Tallies(Collector):
    """Counts in plain dictionaries, because a request must not pay for being counted."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.problems: Counter[str] = Counter()
        self.seconds: dict[str, list[float]] = {}
        self.duties: dict[str, Counter[str]] = {}
        self.successes: dict[str, float] = {}
        self.gauges: Gauges = dict
        self.house: Callable[[], Mapping[str, Mapping[str, float]]] = dict
        self.refresh: Callable[[], Awaitable[None]] = _nothing
        self.player: Mapping[str, int] = {}
        self.streams: Mapping[str, int] = {}
        self.doors: Mapping[str, int] = {}
        self.siblings: Callable[[Counts], Awaitable[Counts | None]] = _alone
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def see(self, seen: Seen) -> None:
        """Count a request that was answered."""
        self.requests[seen.route, seen.method, seen.status] += 1
        if seen.code is not None:
            self.problems[seen.code] += 1
        row = self.seconds.get(seen.route)
        if row is None:
            row = self.seconds[seen.route] = [0.0] * (len(BOUNDS) + 2)
        row[bisect.bisect_left(BOUNDS, seen.seconds)] += 1
        row[-1] += seen.seconds

    def duty(self, name: str, what: str, count: int = 1) -> None:
        """Count for a duty: `settled` rows, `failed` runs."""
        self.duties.setdefault(name, Counter())[what] += count

    def counts(self) -> Counts:
        """All that this process counted."""
        return [
            Family(
                family.name, family.type, family.documentation,
                [Sample(sample.name, dict(sample.labels), sample.value) for sample in family.samples],
            )
            for family in self._registry.collect()
        ]  # fmt: skip

    async def text(self) -> bytes | None:
        """What all processes of this server counted, in Prometheus' text format; None when they cannot be asked."""
        await self.refresh()
        counts = await self.siblings(self.counts())
        return None if counts is None else generate_latest(_Read(counts))

    def collect(self) -> Iterable[Metric]:
        """Answer the registry."""
        requests = CounterMetricFamily(
            "steadhold_requests", "Requests answered, by route.", labels=["route", "method", "status"]
        )
        for (route, method, status), count in self.requests.items():
            requests.add_metric([route, method, str(status)], count)
        yield requests
        yield _counter("steadhold_problems", "Problems answered, by code.", "code", self.problems)
        yield _counter("steadhold_doors", "What came of requests at doors of inboxes.", "what", self.doors)
        yield _counter("steadhold_player", "What the player of calls did.", "what", self.player)
        yield _counter("steadhold_streams_ended", "Answers in pieces that have ended, by how.", "how", self.streams)
        yield from self._durations()
        yield from self._of_duties()
        dropped = {"spans": ENDING.dropped, "lines": WRITING.dropped}
        yield _counter("steadhold_telemetry_dropped", "Spans and lines that nobody took in time.", "what", dropped)
        for name, value in self.gauges().items():
            yield GaugeMetricFamily(f"steadhold_{name}", _GAUGES[name], value=value)
        yield from self._of_the_house()

    def _of_the_house(self) -> Iterable[Metric]:
        for name, values in self.house().items():
            told = FAMILIES[name]
            family = GaugeMetricFamily(f"steadhold_{name}", told.says, labels=[told.label] if told.label else [])
            for of, value in values.items():
                family.add_metric([of] if told.label else [], value)
            yield family

    def _durations(self) -> Iterable[Metric]:
        family = HistogramMetricFamily("steadhold_request_seconds", "Time to the answer, by route.", labels=["route"])
        for route, row in self.seconds.items():
            buckets: list[tuple[str, float]] = []
            total = 0.0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), row, strict=False):
                total += count
                buckets.append((bound, total))
            family.add_metric([route], buckets, row[-1])
        yield family

    def _of_duties(self) -> Iterable[Metric]:
        for what, told in (("settled", "Rows that a duty settled."), ("failed", "Runs of a duty that failed.")):
            counts = {name: counts[what] for name, counts in self.duties.items()}
            yield _counter(f"steadhold_duty_{what}", told, "duty", counts)
        last = GaugeMetricFamily(
            "steadhold_loop_last_success_seconds", "When a loop last went well, in Unix time.", labels=["loop"]
        )
        for loop, moment in self.successes.items():
            last.add_metric([loop], moment)
        yield last


class _Read(CollectorRegistry):
    """Counts, to be written as text."""

    def __init__(self, counts: Counts) -> None:
        super().__init__(auto_describe=False)
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        """Answer the writer."""
        for family in self._counts:
            read = Metric(family.name, family.says, family.kind)
            read.samples = [Shown(sample.name, sample.labels, sample.value) for sample in family.samples]
            yield read


async def _nothing() -> None:
    """Nothing has to be asked for."""


async def _alone(counts: Counts) -> Counts:
    """There is one process."""
    return counts


_GAUGES: Final = {
    "processes": "Processes of this server that answer.",
    "requests_in_flight": "Requests that are being answered.",
    "waiters": "Long polls and streams that wait.",
    "streams": "Bodies that come and go piece by piece.",
    "connections": "Connections to PostgreSQL.",
    "connections_idle": "Connections to PostgreSQL that nobody uses.",
    "connections_waiting": "Callers that wait for a connection to PostgreSQL.",
    "incarnation": "The incarnation of the data (law 13); a rise means that the database was restored or failed over.",
}
"""The gauges of a process and what they say; those of the whole house are in `telemetry/gauges.py`."""


def _counter(name: str, told: str, label: str, counts: Mapping[str, float]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, told, labels=[label])
    for key, count in counts.items():
        family.add_metric([key], count)
    return family
