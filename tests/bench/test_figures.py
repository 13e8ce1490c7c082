"""What is made of raw figures, and what is said of it."""

from __future__ import annotations

import pytest

from bench.figures import cost, last_seconds, medians, percentile, ratio
from bench.floors import PEERS, Floor, best_peer, floors, median_of
from bench.table import grid, number, page


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
    ("value", "told"), [(None, "-"), (12_345.6, "12,346"), (99.94, "99.9"), (1.2345, "1.23"), (-0.5, "-0.50")]
)
def test_numbers_are_told_with_about_three_digits(value, told):
    assert number(value) == told


def test_a_grid_is_a_table_of_markdown():
    assert grid(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
