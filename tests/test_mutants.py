"""What runs the laws sees the fault as it stands in its file, and nothing that was loaded before."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tools.laws import ROOT, Law
from tools.mutants import LOOKS_MAX, Shared, looked, verdict_of
from tools.tree import TOO_LONG, Ran, Tree, compile_all

TESTS = """
import os, subprocess, sys
import pytest
from steadhold import said

def test_here():
    assert said.WORD == "right"

def test_in_a_child():
    subprocess.run([sys.executable, "-c", "from steadhold import said; assert said.WORD == 'right'"], check=True)

def test_for_ever():
    while True:
        pass

def test_place():
    assert os.environ["PLACE"] == "there"

def test_skips():
    pytest.skip("passed by")

def test_suites():
    assert os.environ["STEADHOLD_SUITES"] == os.environ["PLACE"]

def test_strays():
    sys.path.insert(0, os.environ["ELSEWHERE"])
    import tools.laws
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("mutants").resolve() / "tree"
    for path, text in {
        "src/steadhold/__init__.py": "",
        "src/steadhold/said.py": "WORD = 'right'\n",
        "tests/test_said.py": TESTS,
        "tools/empty.py": "",
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "--import-mode=importlib"\n',
    }.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text, encoding="utf-8")
    compile_all(made)
    return made


@pytest.fixture(scope="module")
def tree(folder):
    with Tree(folder, ["asyncio", "pytest", "hypothesis.strategies"]) as made:
        yield made


def verdict(tree, name, **options):
    ran = tree.run([f"tests/test_said.py::{name}"], **options)
    found = verdict_of(ran)
    return f"broken: {ran.said}" if found == "broken" else found


@pytest.mark.parametrize("name", ["test_here", "test_in_a_child"])
def test_a_fault_of_the_same_size_and_second_is_seen_and_gone_again(tree, name):
    place = tree.folder / "src/steadhold/said.py"
    times = place.stat().st_atime_ns, place.stat().st_mtime_ns
    assert verdict(tree, name) == "green"
    for _ in range(2):
        with tree.planted("src/steadhold/said.py", "'right'", "'wrong'"):
            os.utime(place, ns=times)
            assert verdict(tree, name) == "red"
        os.utime(place, ns=times)
        assert verdict(tree, name) == "green"


def test_a_fault_that_does_not_compile_is_no_red(tree):
    with tree.planted("src/steadhold/said.py", "WORD =", "WORD = ("):
        assert verdict(tree, "test_here").startswith("broken")


def test_a_run_that_does_not_end_is_ended(tree):
    assert verdict(tree, "test_for_ever", seconds=0.5) == "slow"
    assert verdict(tree, "test_here") == "green"


def test_a_test_that_was_skipped_has_seen_nothing(tree):
    assert verdict(tree, "test_skips") == "skipped"


class Told:
    """A tree whose runs end as they are told."""

    def __init__(self, *codes):
        self.left = list(codes)

    def run(self, tests, environment):
        return Ran(self.left.pop(0), "1 passed")


@pytest.mark.parametrize("before", [0, TOO_LONG, 3], ids=["green", "slow", "broken"])
def test_what_has_said_nothing_is_looked_at_again(before):
    law = Law("a", "b", "c", "tests/a.py::b", "src/a.py", "d", "e")
    assert verdict_of(looked(Told(before, 1), law, {})) == "red"
    assert verdict_of(looked(Told(*[before] * LOOKS_MAX), law, {})) != "red"


def test_a_tree_finds_the_outside_suites_where_the_checkout_does(folder, monkeypatch):
    monkeypatch.delenv("STEADHOLD_SUITES", raising=False)
    with Tree(folder) as made:
        assert verdict(made, "test_suites", environment={"PLACE": str(ROOT.parent / "shared" / "data")}) == "green"
    monkeypatch.setenv("STEADHOLD_SUITES", "/elsewhere")
    with Tree(folder) as made:
        assert verdict(made, "test_suites", environment={"PLACE": "/elsewhere"}) == "green"


def test_a_run_has_its_own_variables(tree):
    assert verdict(tree, "test_place", environment={"PLACE": "there"}) == "green"
    assert verdict(tree, "test_place") == "red"


def test_what_is_loaded_first_is_not_of_the_tree(tree, folder, tmp_path):
    found = tmp_path / "names"
    tree.run(["tests/test_said.py::test_here"], "--collect-only", names=found)
    names = json.loads(found.read_text(encoding="utf-8"))
    assert {"pytest", "hypothesis", "json"} <= set(names)
    assert not {name for name in names if name.startswith(("steadhold", "tests", "tools"))}


def test_a_module_of_a_tree_that_is_loaded_first_stops_everything(folder, capfd):
    with Tree(folder, ["steadhold.said"]) as made, pytest.raises(RuntimeError, match="ended"):
        made.run(["tests/test_said.py::test_here"])
    assert "loaded before any fault was planted: ['steadhold', 'steadhold.said']" in capfd.readouterr().err


def test_a_run_that_imports_another_tree_is_broken(tree):
    assert "'tools.laws']" in verdict(tree, "test_strays", environment={"ELSEWHERE": str(ROOT)})


TEMPLATE = {
    "src/steadhold/db/migrations/0007_state.sql": True,
    "src/steadhold/db/migrate.py": True,
    "src/steadhold/testing/clock.sql": True,
    "src/steadhold/state/plans.py": False,
}


@pytest.mark.parametrize("file, alone", TEMPLATE.items(), ids=TEMPLATE)
def test_a_fault_that_may_change_the_template_has_its_own(file, alone):
    law = Law("a", "b", "c", "tests/a.py::b", file, "d", "e")
    environment = Shared("run", "postgresql://there").environment(0, law)
    assert ("STEADHOLD_TEST_DSN" in environment) is alone
    assert ("PYTEST_XDIST_TESTRUNUID" in environment) is not alone
