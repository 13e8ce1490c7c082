"""`steadhold work`: a worker of the user's own, over HTTP and directly on PostgreSQL, beside a development server."""

from __future__ import annotations

import json

import pytest

TASKS = """
from steadhold.worker import Worker

worker = Worker()


@worker.job("double")
async def double(ctx, n):
    return await ctx.stage("twice", lambda: 2 * n)


@worker.job("fail")
def fail(ctx, why):
    from steadhold.worker import Permanent

    raise Permanent(why)
"""


@pytest.fixture
def work(folder, start, me):
    """Start a worker on the tasks above."""
    (folder / "tasks.py").write_text(TASKS)

    def started(told, *words):
        environ = {"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": told["api_key"]}
        return start("work", "tasks:worker", *words, user=me, cwd=folder, environ=environ)

    return started


@pytest.mark.parametrize("door", ["http", "postgres"])
def test_a_submitted_job_is_done_and_its_end_is_told(dev, ask, work, me, door):
    told = dev(me).told
    dsn = f"postgresql://steadhold@/postgres?host={told['data_dir']}/run&port=5432"
    worker = work(told, *(("--database-url", dsn, "--workspace", "dev") if door == "postgres" else ()))
    ended = [json.loads(line) for line in ask(told, "jobs", "submit", "double", "21", "--wait").splitlines()]
    assert ended[-1]["state"] == "completed"
    assert ask(told, "jobs", "result", ended[0]["job_id"]) == b"42"
    (stage,) = [json.loads(line) for line in ask(told, "jobs", "checkpoints", ended[0]["job_id"]).splitlines()]
    assert stage["stage"] == "twice"
    assert b"failed: broken" in ask(told, "jobs", "submit", "fail", '"broken"', "--wait", code=1)
    assert worker.end() == 0


def test_who_waits_is_told_that_nobody_takes_it_until_a_worker_comes(dev, start, work, me):
    told = dev(me).told
    environ = {"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": told["api_key"]}
    waiting = start("jobs", "submit", "double", "21", "--wait", user=me, environ=environ, errors=True)
    assert b"No job of type double is running." in waiting.errors.readline()
    assert b"`steadhold work MODULE:WORKER`" in waiting.errors.readline()
    worker = work(told)
    assert waiting.ended() == 0
    assert [json.loads(line)["state"] for line in waiting.process.stdout][-1] == "completed"
    assert worker.end() == 0
