"""What is made of raw figures, and what is said of it."""

from __future__ import annotations

import pytest

from bench.figures import cost, last_seconds, medians, percentile, ratio
from bench.floors import PEERS, Floor, best_peer, floors, median_of
from bench.run import Run
from bench.table import grid, number, page, told


def test_the_median_of_three_rounds_is_the_middle_one():
    runs = [{"rate": 9.0, "route": "x"}, {"rate": 1.0, "route": "x"}, {"rate": 5.0, "route": "x"}]
    assert medians(runs) == {"rate": 5.0}


def test_a_figure_that_one_round_lacks_has_no_median():
    assert medians([{"rate": 9.0, "ok": True}, {"absent": "no compiler"}]) == {}
    assert medians([]) == {}


def test_percentiles_are_values_that_were_measured():
    delays = [float(n) for n in range(1, 201)]
    assert percentile(delays, 0.5) == 101.0
    assert percentile(delays, 0.99) == 199.0
    assert percentile([], 0.5) is None


def test_ratios_of_what_is_missing_are_missing():
    assert ratio(3.0, 2.0) == 1.5
    assert ratio(None, 2.0) is None
    assert ratio(3.0, None) is None
    assert ratio(3.0, 0) is None


def test_the_last_seconds_of_a_run_that_was_too_short_say_nothing():
    assert last_seconds([10, 20, 30, 40], 2) == 35
    assert last_seconds([10, 20, 30, 40], 10) is None


def test_a_cost_is_the_share_that_was_lost():
    assert cost(100.0, 80.0) == pytest.approx(0.2)
    assert cost(100.0, 120.0) == pytest.approx(-0.2)
    assert cost(None, 80.0) is None


@pytest.mark.parametrize(
    ("floor", "met"),
    [
        (Floor("a", 1.3, 1.3), True),
        (Floor("a", 1.3, 1.29), False),
        (Floor("a", 40, 41.0, at_least=False), False),
        (Floor("a", 40, 39.0, at_least=False), True),
        (Floor("a", 40, None), None),
    ],
)
def test_a_floor_is_met_or_not_or_was_not_measured(floor, met):
    assert floor.met is met


def rounds(*values, figure="wins_per_second"):
    return [{figure: value} for value in values]


RAW = {
    "state": {
        "steadhold_64": [{"wins_per_second": 130.0, "p99_ms": 39.0}] * 3,
        "etcd_64": rounds(90.0, 100.0, 500.0),
        "steadhold_hot_64": [{"wins_per_second": 40.0, "commits_per_second": 100.0}],
    },
    "jobs": {
        "steadhold": [{"drained_per_second": 3_000.0, "route": "r", "worker": "w", "jobs": 10}],
        "pgqueuer": [{"drained_per_second": 1_500.0, "route": "r", "worker": "w", "jobs": 10}],
        "awa": [{"drained_per_second": 2_000.0, "route": "r", "worker": "w", "jobs": 10}],
        "oban": [{"absent": "oban needs Python 3.12"}],
    },
}


def judged():
    return {floor.what: floor for floor in floors(RAW)}


def test_floors_compare_medians_of_the_same_run():
    assert judged()["state CAS at 64 clients, times etcd"].is_ == pytest.approx(1.3)
    assert judged()["state CAS at 64 clients, times etcd"].met is True
    assert judged()["one hot name: wins by commits of the same run"].met is False


def test_jobs_are_measured_against_the_best_peer_and_not_against_ourselves():
    assert "steadhold" not in PEERS
    assert best_peer(RAW, "drained_per_second") == ("awa", 2_000.0)
    assert judged()["jobs drained, times the best Python peer (awa)"].met is True
    assert best_peer({}, "drained_per_second") is None


def test_what_was_not_measured_is_never_called_met():
    assert {floor.met for floor in floors({})} == {None}


def test_a_system_that_is_absent_has_no_median_and_its_reason_is_told():
    assert median_of(RAW, "jobs", "oban", "drained_per_second") is None
    assert "oban: not measured (oban needs Python 3.12)" in page(RAW, {})


def test_the_page_says_which_floors_do_not_hold():
    text = page(RAW, {})
    assert "| one hot name: wins by commits of the same run | ≥ 0.5 | 0.40 | **no** |" in text
    assert "| server at rest, MB | ≤ 120 | - | not measured |" in text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (12_345.6, "12,346"), (99.94, "99.9"), (1.2345, "1.23"), (-0.5, "-0.50")]
)
def test_numbers_are_told_with_about_three_digits(value, text):
    assert number(value) == text


def test_a_grid_is_a_table_of_markdown():
    assert grid(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


COORDINATION = {
    "locks": {
        "steadhold": rounds(1_400.0, 1_600.0, 1_500.0),
        "etcd": rounds(900.0, 1_000.0, 1_100.0),
        "wake": rounds(21.0, figure="p99_ms"),
        "redis": [{"absent": "no redis on the path"}],
    },
    "schedules": {
        "tick": rounds(4.9, figure="p50_ms"),
        "due": [{"due": 1_000, "jobs": 999, "late_max_seconds": 0.4, "all_seen_seconds": 30.1}],
    },
    "commits": {
        "together_64": rounds(400.0, figure="operations_per_second"),
        "alone_64": rounds(200.0, figure="operations_per_second"),
    },
    "effects": {"steadhold_64": rounds(999.0, 1_001.0, 1_000.0)},
    "snapshot": {"pgbench": [{"before_per_second": 10.0, "last_seconds_per_second": 8.0, "cost": 0.2}]},
}


@pytest.mark.parametrize(
    ("what", "met"),
    [
        ("locks acquired and released at 64 clients, times etcd", True),
        ("p99 from a release to who waits, by the same server, ms", False),
        ("p99 from a release to who waits, by another server, ms", None),
        ("a tick beside 100,000 schedules of which none is due, ms", True),
        ("1,000 schedules due at once: the latest is recorded after, s", True),
        ("the same until all jobs are there to be seen, s", False),
        ("the same: jobs by schedules", False),
        ("effects from plan to outcome per second, 64 clients", True),
    ],
)
def test_floors_of_coordination_are_told_as_they_were_measured(what, met):
    assert {floor.what: floor.met for floor in floors(COORDINATION)}[what] is met


def test_who_watches_a_run_is_told_the_floors_of_the_part_that_is_done():
    assert told(COORDINATION, "locks").splitlines()[:2] == [
        "locks is done",
        "locks acquired and released at 64 clients, times etcd | ≥ 1.5 | 1.50 | yes",
    ]
    assert told(COORDINATION, "commits") == "commits is done"


def test_the_page_has_a_table_for_each_part_of_coordination():
    text = page(COORDINATION, {})
    assert "| steadhold, HTTP, a process for each core | 1,500 | 1.50 | - | - | - |" in text
    assert "| at the same server | - | 21.0 | - | - | - |" in text
    assert "| 1,000 | 999 | - | - | 0.40 | 30.1 |" in text
    assert "| 64 | one commit of four | - | 400 | 2.00 | - | - |" in text
    assert "| 64 | steadhold, HTTP, a process for each core | 1,000 | - | - | - | - |" in text
    assert "| pgbench, bare UPDATE, a row a client | 10.0 | 8.00 | 0.20 |" in text


def test_the_page_says_what_is_absent_and_how_many_rounds_there_are():
    about = {"commit": "abc", "machine": {}, "versions": {}}
    text = page(COORDINATION, {"locks": about})
    assert "- redis: not measured (no redis on the path)" in text
    assert "| locks | 1 to 3 | abc |" in text


def a_run(folder, **more):
    return Run("locks", folder, rounds=2, scale=1.0, only=(), go_on=True, **more)


def test_a_run_takes_systems_in_turn_and_what_is_there_only_once(tmp_path):
    run = a_run(tmp_path)
    taken = []
    for name, round_ in run.wanted(("ours", "theirs")):
        taken.append((name, round_))
        run.keep(name, round_, {"rate": 1.0})
    assert taken == [("ours", 0), ("theirs", 0), ("ours", 1), ("theirs", 1)]
    again = a_run(tmp_path)
    assert list(again.wanted(("ours", "theirs", "new"))) == [("new", 0), ("new", 1)]


def test_nothing_is_begun_once_the_time_is_over(tmp_path):
    assert list(a_run(tmp_path, until=0.0).wanted(("ours",))) == []
