"""What several processes counted, as one."""

from __future__ import annotations

from steadhold.server import tallies
from steadhold.server.processes.sums import ONCE, SMALLEST, Family, Sample, lasting, total


def family(name, kind="counter", **values):
    return Family(name, kind, "says", [Sample(name, {"of": of}, value) for of, value in values.items()])


def test_counters_and_gauges_are_added_up_by_their_labels():
    found = total([family("n", a=1, b=2)], [[family("n", b=3, c=4)], [family("other", "gauge", a=5)]])
    assert found == [family("n", a=1, b=5, c=4), family("other", "gauge", a=5)]


def test_of_a_gauge_that_says_when_the_oldest_is_told():
    name = "steadhold_loop_last_success_seconds"
    found = total([family(name, "gauge", keys=30)], [[family(name, "gauge", keys=10, duties=20)]])
    assert found == [family(name, "gauge", keys=10, duties=20)]


def test_what_the_database_says_is_told_once():
    name = "steadhold_publications_pending"
    stale = [family(name, "gauge", a=9)]
    assert total([family(name, "gauge", a=7)], [stale]) == [family(name, "gauge", a=7)]
    assert total([], [stale]) == []


def test_of_a_process_that_ended_its_counters_stay_and_its_gauges_go():
    kept = [family("n"), family("h", "histogram")]
    assert lasting([*kept, family("g", "gauge", a=1)]) == kept


def test_each_gauge_is_known_to_be_of_a_process_or_of_the_database():
    of_a_process = {
        "processes",
        "requests_in_flight",
        "waiters",
        "streams",
        "connections",
        "connections_idle",
        "connections_waiting",
    }
    gauges = {f"steadhold_{name}" for name in tallies._GAUGES.keys() - of_a_process}
    assert gauges == {name for name in ONCE | SMALLEST if name.removeprefix("steadhold_") in tallies._GAUGES}
