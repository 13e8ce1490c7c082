"""Plant each fault of laws.toml in a copy of the tree and run its test there: it must turn red.

A law whose test stays green under its fault is held by nothing, and this fails. `--only ID` chooses
laws, `--changed` those whose fault or test is in a file that differs from HEAD (or from `--base`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from steadhold.testing.run import joined
from tools.laws import ROOT, Law, faults, read
from tools.tree import LEFT_OUT, TOO_LONG, Ran, Tree, compile_all, copied

VERDICTS = {0: "green", 1: "red", TOO_LONG: "slow"}
LOOKS_MAX = 3
CORES = os.cpu_count() or 1
WAITING = tuple(f"tests/{folder}/" for folder in ("worker", "faults", "journeys", "server", "web", "db"))
"""Tests that wait, when there is a fault, for what never comes. They are begun first, beside those that compute."""
TEMPLATE_MADE_BY = ("src/steadhold/db/", "src/steadhold/testing/")


@dataclass(frozen=True, slots=True)
class Shared:
    """The PostgreSQL of all runs, with one migrated template."""

    run_id: str
    dsn: str

    def environment(self, tree: int, law: Law | None = None) -> dict[str, str]:
        """Where a run finds its database. One whose fault may change the template makes its own, on this server."""
        if law and law.file.startswith(TEMPLATE_MADE_BY):
            return {"STEADHOLD_TEST_DSN": self.dsn}
        return {"PYTEST_XDIST_TESTRUNUID": self.run_id, "PYTEST_XDIST_WORKER": f"tree{tree}"}


def main() -> int:
    """Run the chosen laws and print a table; 0 if every one turned red."""
    asked = _arguments()
    laws = _chosen(read(), asked)
    for sentence in (wrong := [sentence for law in laws for sentence in faults(law)]):
        print(sentence)
    if wrong:
        return 1
    if not laws:
        print("no law is chosen")
        return 0
    with contextlib.ExitStack() as stack:
        shared = stack.enter_context(_shared(laws))
        trees = _trees(stack, laws, min(asked.jobs, len(laws)))
        if not (asked.tests_passed or _sound(trees[:CORES], shared, laws)):
            return 1
        free: queue.SimpleQueue[tuple[int, Tree]] = queue.SimpleQueue()
        for numbered in enumerate(trees):
            free.put(numbered)
        with ThreadPoolExecutor(len(trees)) as pool:
            laws.sort(key=lambda law: not law.test_file.startswith(WAITING))
            verdicts = list(pool.map(partial(_judged, free, shared), laws))
    alive = [law.id for law, verdict in zip(laws, verdicts, strict=True) if verdict != "red"]
    print(f"{len(laws) - len(alive)} of {len(laws)} laws turn red under their fault")
    for law_id in alive:
        print(f"  not seen: {law_id}")
    return 1 if alive else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="only this law (repeat for more)")
    parser.add_argument("--changed", action="store_true", help="only laws whose fault or test file changed")
    parser.add_argument("--base", default="HEAD", help="what --changed compares with")
    parser.add_argument("--tests-passed", action="store_true", help="without a fault they do: that was seen just now")
    parser.add_argument("--jobs", type=int, default=2 * CORES, help="how many at once: most of the time some wait")
    return parser.parse_args()


def _chosen(laws: list[Law], asked: argparse.Namespace) -> list[Law]:
    if unknown := set(asked.only) - {law.id for law in laws}:
        sys.exit(f"laws.toml has no law {', '.join(sorted(unknown))}")
    if asked.only:
        laws = [law for law in laws if law.id in asked.only]
    if asked.changed:
        changed = _git("diff", "--name-only", asked.base) | _git("ls-files", "--others", "--exclude-standard")
        laws = [law for law in laws if {law.file, law.test_file} & changed]
    return laws


def _git(*words: str) -> set[str]:
    return set(subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"))


@contextlib.contextmanager
def _shared(laws: Sequence[Law]) -> Iterator[Shared | None]:
    """One PostgreSQL for all runs, if a test may need it."""
    if all(law.test_file.count("/") == 1 for law in laws):
        yield None
        return
    run_id = uuid.uuid4().hex
    with joined(run_id) as run:
        yield Shared(run_id, run.dsn)


def _trees(stack: contextlib.ExitStack, laws: Sequence[Law], number: int) -> list[Tree]:
    """Copies of the repository, each with a process that has loaded what the tests import and is not under test."""
    first = stack.enter_context(copied(ROOT, LEFT_OUT))
    compile_all(first)
    names = _foreign(first, laws)
    folders = [first, *(stack.enter_context(copied(first)) for _ in range(number - 1))]
    return [stack.enter_context(Tree(folder, names)) for folder in folders]


def _foreign(folder: Path, laws: Sequence[Law]) -> list[str]:
    with Tree(folder) as cold, tempfile.NamedTemporaryFile("r", encoding="utf-8") as names:
        ran = cold.run(_tests(laws), "--collect-only", names=Path(names.name))
        if ran.code:
            sys.exit(f"{ran.said[-4000:]}\nthe laws' tests cannot be collected")
        return json.load(names)


def _tests(laws: Iterable[Law]) -> list[str]:
    return sorted({law.test for law in laws})


def _sound(trees: Sequence[Tree], shared: Shared | None, laws: Sequence[Law]) -> bool:
    """Without a fault every test is green."""
    files = sorted({law.test_file for law in laws})
    with ThreadPoolExecutor(len(trees)) as pool:
        ran = list(pool.map(partial(_share, shared, laws, files, len(trees)), trees, range(len(trees))))
    for failed in (one for one in ran if one.code):
        print(failed.said[-4000:], "a law's test fails without any fault", sep="\n")
    return not any(one.code for one in ran)


def _share(
    shared: Shared | None, laws: Sequence[Law], files: Sequence[str], trees: int, tree: Tree, number: int
) -> Ran:
    """Every so manieth file of tests, in one tree."""
    mine = set(files[number::trees])
    return tree.run(
        _tests(law for law in laws if law.test_file in mine), environment=shared.environment(number) if shared else {}
    )


def _judged(trees: queue.SimpleQueue[tuple[int, Tree]], shared: Shared | None, law: Law) -> str:
    """Plant the fault, run the test, take the fault back: `red`, `green`, `skipped`, `slow` or `broken`."""
    number, tree = trees.get()
    began = time.monotonic()
    try:
        with tree.planted(law.file, law.find, law.replace):
            ran = looked(tree, law, shared.environment(number, law) if shared else {})
    finally:
        trees.put((number, tree))
    verdict = verdict_of(ran)
    print(f"{verdict:7} {time.monotonic() - began:5.1f} s  {law.id:40} {law.source}", flush=True)
    if verdict == "broken":
        print(ran.said[-2000:])
    return verdict


def verdict_of(ran: Ran) -> str:
    """What a run says of a fault. Only `red` has seen it."""
    return "skipped" if ran.skipped else VERDICTS.get(ran.code, "broken")


def looked(tree: Tree, law: Law, environment: dict[str, str]) -> Ran:
    """Run the test until it is red: it may look by chance, and a run that broke or hung has said nothing."""
    for _ in range(LOOKS_MAX - 1):
        if verdict_of(ran := tree.run([law.test], environment=environment)) in ("red", "skipped"):
            return ran
    return tree.run([law.test], environment=environment)


if __name__ == "__main__":
    sys.exit(main())
