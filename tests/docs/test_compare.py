"""docs/compare.md has no figure that was not measured."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import PAGES, ROOT

RESULTS = (ROOT / "bench" / "results" / "README.md").read_text(encoding="utf-8")
FIGURES = PAGES["compare"].partition("\n## Figures\n")[2]
ROWS = [tuple(line.strip("| ").split(" | ")) for line in FIGURES.splitlines() if line.startswith("| ")][1:]
NUMBER = r"([\d,]+)"
EACH = "steadhold, HTTP, a process for each core"
CAS = rf"\| 64 \| {EACH} \| {NUMBER} "
RAN = rf"\| steadhold \| [\d,]+ \| {NUMBER} "
LOCKS = rf"## Locks, .*?\n\| {EACH} \| {NUMBER} "
ETCD = rf"\| 64 \| etcd, gRPC transaction \| {NUMBER} "
INBOX = rf"\| steadhold, HTTP, one inbox, a process for each core \| {NUMBER} "
MEASURED = [
    (CAS, ETCD),
    (rf"\| 64 \| {EACH} \| [^\n]*\n\| 64 \| the same, operation ids \| {NUMBER} ", ETCD),
    (rf"\| 1 \| {EACH} \| {NUMBER} ", rf"\| 1 \| etcd, gRPC transaction \| {NUMBER} "),
    (rf"\| steadhold \| {NUMBER} ", rf"\| pgqueuer \| {NUMBER} "),
    *((RAN, rf"\| {peer} \| [\d,]+ \| {NUMBER} ") for peer in ("pgqueuer", "pgqueuer_100", "procrastinate", "dbos")),
    (LOCKS, rf"\| etcd, gRPC: lease, transaction, revoke \| {NUMBER} "),
    (LOCKS, rf"\| etcd under a lease that is kept: transaction, delete \| {NUMBER} "),
    (LOCKS, rf"\| Redis: SET NX PX and script, appendfsync always \| {NUMBER} "),
    (INBOX, rf"\| NATS JetStream, sync_interval: always \| {NUMBER} "),
    (INBOX, rf"\| NATS JetStream as it comes, [^|]* \| {NUMBER} "),
]
"""Where the page of results has the two figures of each row."""


def figure(text):
    return float(re.search(r"\b[\d,]{3,}\b", text)[0].replace(",", ""))


@pytest.mark.parametrize(("row", "measured"), list(zip(ROWS, MEASURED, strict=True)), ids=lambda it: it[0][:40])
def test_a_figure_was_measured(row, measured):
    told = [figure(cell) for cell in row[1:]]
    found = [re.search(rf"^{pattern}", RESULTS, re.MULTILINE | re.DOTALL) for pattern in measured]
    assert told == [pytest.approx(figure(one[1]), rel=0.05) for one in found]


def test_no_other_figure_of_speed_is_told():
    told = PAGES["compare"].partition("\n## Figures\n")[0]
    assert not re.search(r"\d[\d,]* (?:a second|/s|ms\b|times\b)", told)


def test_what_spreading_costs_was_measured():
    (said,) = re.findall(r"makes ([\d.]+) times as many writes", FIGURES)
    found = re.search(r"^\| 64 \| without \| [\d,]+ \| ([\d.]+) ", RESULTS, re.MULTILINE)
    assert float(said) == pytest.approx(float(found[1]), rel=0.1)
