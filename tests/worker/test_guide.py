"""The page of workers: its example is run, and its tables are what is so."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from pathlib import Path

import pytest

from steadhold.jobs.model import Fail
from steadhold.worker import Context, SyncContext, Worker, verdicts
from tests.worker.bench import claimed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "worker.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def table(heading):
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return {cell.strip(): [rest.strip() for rest in more] for cell, *more in rows}


async def test_the_examples_run(on_postgres, monkeypatch):
    monkeypatch.setenv("STEADHOLD_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("STEADHOLD_API_KEY", "k")
    names = {"list_files": lambda folder: ["a", "bc"], "measure": len, "shrink": lambda file: f"{file}.small"}
    for example in EXAMPLES:
        exec(compile(example, "docs/worker.md", "exec"), names)
    worker = names["worker"]
    worker.use(**on_postgres.place)
    worker.on = worker.probe = on_postgres.worker().probe
    ids = [
        await on_postgres.submit("report", input=b'{"folder": "here"}'),
        await on_postgres.submit("resize", input=b'{"file": "a"}'),
    ]
    async with on_postgres.working(worker) as probe:
        for id in ids:
            await probe.seen("job.settled", job_id=id, state="completed")
    assert [await on_postgres.result(id) for id in ids] == [b'{"files":2,"bytes":3}', b'"a.small"']


def test_every_setting_stands_in_the_table_with_its_default():
    said = {name: row for cell, row in table("Settings").items() for name in re.findall(r"`(\w+)`", cell)}
    given = dict(inspect.signature(Worker).parameters)
    assert said.keys() - {"Worker"} == given.keys()
    for name, parameter in given.items():
        if isinstance(parameter.default, int | float):
            assert ast.literal_eval(said[name][0]) == parameter.default


@pytest.mark.parametrize("context", [Context, SyncContext])
def test_every_verb_of_a_handler_stands_in_the_table(context):
    said = set(re.findall(r"ctx\.(\w+)", " ".join(table("What a handler has"))))
    assert said == {name for name in dir(context) if not name.startswith("_")}


def test_every_exception_stands_in_the_table_with_its_class():
    told = " ".join(table("How it ends"))
    for bug in verdicts.BUGS:
        assert f"`{bug.__name__}`" in told
    job = claimed()
    for cell, (klass, *_) in table("How it ends").items():
        for name in re.findall(r"`([A-Z]\w*(?:Error|Fault|Exit))", cell):
            said = verdicts.judge(job, (getattr(verdicts, name, None) or getattr(builtins, name))())
            assert isinstance(said, Fail)
            assert said.klass == klass


def test_every_moment_is_told_of():
    told = set(re.findall(r"`(\w+\.\w+)`", PAGE.partition("## What is told")[2])) - {"steadhold.worker"}
    emitted = {
        name
        for path in (ROOT / "src" / "steadhold" / "worker").glob("*.py")
        for name in re.findall(r'_?tell\("(\w+\.\w+)"', path.read_text())
    }
    assert told == emitted
