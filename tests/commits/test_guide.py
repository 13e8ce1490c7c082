"""The guide says what is so, and what it shows works."""

from __future__ import annotations

import re
from importlib.resources import files

import msgspec
import psycopg

from steadhold import commits, jobs, locks, state
from steadhold.commits.ops import OPS
from steadhold.kit.ids import new_id
from steadhold.sdk import Client
from steadhold.sdk.approvals import Artifact
from steadhold.web.router import PARAM
from tests.sdk.site import key, site  # noqa: F401 - fixtures

GUIDE = files("steadhold.commits").joinpath("guide.md").read_text()


def rows(title):
    """The rows of the table whose first column has this title."""
    table = GUIDE.partition(f"\n| {title} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def plain(path):
    """A path without the kinds of its parameters."""
    return PARAM.sub(r"{\1}", path)


def test_every_op_stands_there_with_its_members():
    for part, ops in OPS.items():
        told = {row[0].strip("`"): row[-1] for row in rows(f"`{part}`")}
        assert set(told) == set(ops)
        for name, op in ops.items():
            params = {op.members.get(param, param) for param, _ in PARAM.findall(op.route.path)}
            taken = {header.replace("-", "_") for header in op.route.headers} - {"fence"}
            assert params | taken | ({op.content} if op.content else set()) <= set(re.findall(r"`(\w+)`", told[name]))


def test_every_change_stands_there_with_its_route():
    told = {row[0].strip("`"): row[1].strip("`") for row in rows("`apply`")}
    assert told == {name: f"{op.route.method} {plain(op.route.path)}" for name, op in OPS["apply"].items()}


async def test_the_first_request_is_answered_as_it_says(house):
    request, answer, *_ = re.findall(r"```(?:http|json)\n(.*?)```", GUIDE, re.DOTALL)
    body = request.partition("\n\n")[2].encode()
    for fence in (1, 2, 3):
        assert await house.locked() == fence
        if fence < 3:
            await house.ask("POST", "/v1/locks/deploy/release", {"fence": fence})
    got = await house.ask("POST", "/v1/commits", body, idempotency_key=new_id())
    told = msgspec.json.decode(answer)
    assert got.json["require"] == told["require"]
    for done, said in zip(got.json["apply"], told["apply"], strict=True):
        assert {name: done[name] for name in said if name != "result"} == {
            n: v for n, v in said.items() if n != "result"
        }
        assert set(said["result"]) <= set(done["result"])


def test_the_program_runs(dsn, workspace, committed, monkeypatch):
    with committed.transaction():
        for _ in range(3):
            fence = locks.acquire(committed, workspace, "deploy", "anna", 30.0).fence
            if fence < 3:
                locks.release(committed, workspace, "deploy", fence)
    own = GUIDE.partition("\n## In your own transaction\n")[2]
    program = re.search(r"```python\n(.*?)```", own, re.DOTALL)[1].replace('"acme"', repr(workspace))
    names = {"dsn": dsn, "psycopg": psycopg}
    exec(program, names)
    assert isinstance(names["outcome"], commits.Committed)
    with committed.transaction():
        assert state.get(committed, workspace, "release").body == b'{"version": "1.10"}'
        assert jobs.get(committed, workspace, names["outcome"].apply[1].id).state == "accepted"


def test_the_program_of_the_sdk_runs(site, key):  # noqa: F811
    program = re.search(r"```python\n(.*?)```", GUIDE.partition("\n## From Python\n")[2], re.DOTALL)[1]
    plan = Artifact.of("plan/deploy", "7", b"replicas: 3")
    with Client(site.url, key.key) as client:
        asked = client.approvals.request(
            plan, action="deploy", title="Deploy?", expires_in_seconds=60, allow_requester=True
        )
        client.approvals.approve(asked.approval_id, plan)
        client.state.create("release", {})
        client.jobs.submit("release", {})
        (job,) = client.jobs.claim("w", ["release"])
        exec(program, {"client": client, "approval_id": asked.approval_id, "plan": plan, "job": job})
        assert client.state.get("release").value == {"version": "1.10"}
        assert client.approvals.get(asked.approval_id).grant.use_id == job.job_id
        assert client.jobs.get(job.job_id).state == "completed"
