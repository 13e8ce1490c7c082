"""The dashboard and the alert rules ask only for metrics that there are, by labels that they have."""

from __future__ import annotations

import json
import re
from importlib import resources

import pytest
import yaml
from click.testing import CliRunner

from steadhold.cli.program import program
from steadhold.server.tallies import _GAUGES as GAUGES
from steadhold.server.tallies import Tallies
from steadhold.telemetry.gauges import FAMILIES, NAMES
from steadhold.web.above import Seen

OF_PROMETHEUS = {"instance", "job", "le"}
NAME = re.compile(r"\b((?:steadhold|process)_\w+)(?:\{([^}]*)\})?")
WORDS = {"sum", "max", "min", "rate", "increase", "changes", "absent", "time", "or", "histogram_quantile"}


def shipped(name):
    return resources.files("steadhold.telemetry").joinpath(name).read_text()


def alerts():
    (group,) = yaml.safe_load(shipped("alerts.yaml"))["groups"]
    return group["rules"]


def panels():
    return [panel for panel in json.loads(shipped("grafana.json"))["panels"] if panel["type"] != "row"]


def expressions():
    return {
        **{rule["alert"]: rule["expr"] for rule in alerts()},
        **{f"{panel['title']}/{t['refId']}": t["expr"] for panel in panels() for t in panel["targets"]},
    }


def told():
    """Each number that a server tells, with the labels that it may have."""
    tallies = Tallies()
    tallies.see(Seen("/v1/jobs", "GET", 401, "no_valid_key", 0.1, None))
    tallies.duty("fences.job", "failed")
    tallies.successes["duties"] = 1.0
    tallies.player, tallies.doors, tallies.streams = {"calls": 1}, {"accepted": 1}, {"sent": 1}
    tallies.gauges = lambda: dict.fromkeys(GAUGES, 1.0)
    tallies.house = lambda: {name: {"x": 1.0} for name in FAMILIES}
    found = {}
    for sample in (sample for family in tallies.counts() for sample in family.samples):
        found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_only_what_is_told_is_asked_for_by_labels_that_it_has():
    known, wrong = told(), []
    for title, expression in expressions().items():
        asked = NAME.findall(expression)
        labels = {label for name, _ in asked for label in known.get(name, ())} | OF_PROMETHEUS
        said = {label.strip() for by in re.findall(r"by \(([^)]*)\)", expression) for label in by.split(",")}
        chosen = {label for _, chosen in asked for label in re.findall(r"(\w+)\s*(?:=|!=)", chosen)}
        if not asked or not {name for name, _ in asked} <= known.keys() or not said | chosen <= labels:
            wrong.append((title, expression))
    assert wrong == []


def test_an_expression_is_well_formed():
    wrong = []
    for title, expression in expressions().items():
        bare = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)', "", NAME.sub("", expression))
        closed = all(expression.count(a) == expression.count(b) for a, b in ("()", "[]", "{}"))
        if not closed or not set(re.findall(r"[a-z_]+", bare)) <= WORDS:
            wrong.append((title, expression))
    assert wrong == []


def test_what_was_counted_is_asked_for_as_a_rate_and_what_stands_by_max():
    for expression in expressions().values():
        for name in re.findall(r"\b(steadhold_\w+_total)\b", expression):
            assert re.search(rf"(rate|increase)\({name}", expression)
        if {name for name, _ in NAME.findall(expression)} & NAMES:
            assert re.search(r"\b(max|absent)\b", expression)


def test_an_alert_says_what_to_do():
    for rule in alerts():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")


def test_panels_do_not_lie_over_each_other():
    places = [panel["gridPos"] for panel in json.loads(shipped("grafana.json"))["panels"]]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize(("what", "name"), [("grafana", "grafana.json"), ("alerts", "alerts.yaml")])
def test_the_command_line_prints_them(what, name):
    assert CliRunner().invoke(program, ["telemetry", what]).output == shipped(name)
