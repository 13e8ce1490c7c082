"""The README says what was measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RECEIPTS = r"^\| 64 \| steadhold, .*? each core \| .*\n\| 64 \| the same, operation ids \| ([\d,]+) "
SAID = {
    r"about ([\d,]+) compare-and-swaps": r"^\| 64 \| steadhold, HTTP, a process for each core \| ([\d,]+) ",
    r"HTTP at 64 clients and ([\d,]+) with": RECEIPTS,
    r"in the same run, ([\d,]+) trans": r"^\| 64 \| etcd, gRPC transaction \| ([\d,]+) ",
    r"([\d,]+) locks taken": r"^## Locks[^|]*(?:\|.*\n){2}\| steadhold, .*? each core \| ([\d,]+) ",
    r"second \(([\d.]+) times etcd": r"^\| locks acquired and released at 64 clients, times etcd \| .*? \| ([\d.]+) ",
    r"has it within ([\d.]+) ms": r"^\| p99 from a release to who waits, by the same server, ms \| .*? \| ([\d.]+) ",
    r"([\d,]+) jobs enqueued": r"^\| steadhold \| ([\d,]+) ",
    r"and ([\d,]+) run a second": r"^\| steadhold \| [\d,]+ \| ([\d,]+) ",
    r"worker, ([\d.]+) times the fastest": r"^\| jobs drained, times the best Python peer.*?\| .*? \| ([\d.]+) ",
    r"and ([\d.]+) times where that": r"^\| the same, of those that run 100 at once .*?\| .*? \| ([\d.]+) ",
    r"are recorded ([\d.]+) s": r"^\| 1,000 schedules due at once: the latest is recorded after, s \| .*? \| ([\d.]+) ",
    r"([\d,]+) events a second into": r"^\| events per second into one hot inbox, 64 clients \| .*? \| ([\d,]+) ",
    r"\(([\d.]+) times NATS": r"^\| the same, times NATS JetStream that syncs always \| .*? \| ([\d.]+) ",
    r"each within ([\d.]+) ms": r"^\| from a commit to who reads the inbox, p99, ms \| .*? \| ([\d.]+) ",
    r"([\d,]+) webhook deliveries": r"^\| webhook deliveries per second to one receiver \| .*? \| ([\d,]+) ",
    r"([\d,]+) effects a second": r"^\| effects from plan to outcome per second, 64 clients \| .*? \| ([\d,]+) ",
    r"written at ([\d.]+) and": r"^\| files of 1 MiB written over HTTP, times a bare bytea \| .*? \| ([\d.]+) ",
    r"read at ([\d.]+) of": r"^\| the same read \| .*? \| ([\d.]+) ",
}
"""What the README says, and where the page of figures has it."""


@pytest.mark.parametrize(("said", "measured"), SAID.items())
def test_what_is_said_was_measured(said, measured):
    """Rounded to two digits or more."""
    page = (ROOT / "bench/results/README.md").read_text(encoding="utf-8")
    words = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    claim, figure = re.search(said, words), re.search(measured, page, re.MULTILINE)
    assert claim is not None, said
    assert figure is not None, measured
    one, other = (float(found[1].replace(",", "")) for found in (claim, figure))
    assert one == pytest.approx(other, rel=0.05)
