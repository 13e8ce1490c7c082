"""kill -9 in the middle of what an agent does, and on in another process: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import signal

import pytest

from steadhold.adapters.langgraph import SteadholdSaver
from steadhold.sdk import Client
from tests.adapters.graph import STEPS
from tests.adapters.killing import running, upto, whole

pytestmark = pytest.mark.journeys


@pytest.fixture
def client(site, key):
    with Client(site.url, key.key) as client:
        client.inboxes["counted"].create()
        yield client


def counted(client):
    return [event.value for event in client.inboxes["counted"].export()]


def killed(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("where", ["left", "last"])
def test_a_graph_goes_on_where_it_was_killed(site, key, client, where):
    saver, config = SteadholdSaver(client), {"configurable": {"thread_id": "t"}}
    beside = {"left": "right", "right": "left"}.get(where)
    with running("graph", site.url, key.key, "t", where) as process:
        ran = upto(process, where)
        while beside and beside not in {value[0] for _, channel, value in written(saver, config) if channel == "seen"}:
            assert process.poll() is None
        killed(process)
        ran += process.stdout.read().split()
    again = whole("graph", site.url, key.key, "t")
    assert again[0] == where  # what was committed is not run again, beside it neither
    assert sorted([*ran, *again[:-1]]) == sorted([*STEPS, where])
    assert again[-1].split()[0] == "told"
    assert sorted(again[-1].split()[1:]) == sorted(STEPS)
    assert sorted(counted(client)) == sorted(STEPS)


def written(saver, config):
    found = saver.get_tuple(config)
    return found.pending_writes if found else ()


def test_a_graph_that_ended_is_not_run_again(site, key, client):
    assert whole("graph", site.url, key.key, "t")[-1] == "told first left right last"
    assert whole("graph", site.url, key.key, "t") == ["told first left right last"]
    assert len(counted(client)) == len(STEPS)


@pytest.mark.parametrize("where", ["tool 2", "model 3"])
def test_a_turn_of_a_conversation_is_told_once(site, key, client, where):
    before = b'{"turn":"one","item":{"role":"user","content":"before"}}\n'
    file = client.context.write("openai-agents/-s", before, if_revision=None)
    with running("conversation", site.url, key.key, "two", where) as process:
        upto(process, where)
        killed(process)
    assert whole("conversation", site.url, key.key, "two")[-1] == "told 6 items"
    assert sorted(counted(client)) == [1, 2]
    turns = [json.loads(line)["turn"] for line in client.context.read(file.path).body.splitlines()]
    assert turns == ["one"] + ["two"] * 6


@pytest.mark.parametrize("where", ["tool 2", "model 3"])
def test_an_agent_in_a_job_goes_on_where_it_was_killed(site, key, client, where):
    job = client.jobs.submit("clerk", "count").job_id
    with running("clerk", site.url, key.key, where) as process:
        ran = upto(process, where)
        killed(process)
    client.jobs.release(job, client.jobs.get(job).fence)  # what the end of its lease would do
    with running("clerk", site.url, key.key) as process:
        again = upto(process, "model 3")
        ended = client.jobs.wait(job, timeout_seconds=60)
    assert client.jobs.result(job).value == "counted 1 counted 2"
    assert (ended.state, ran[-1], again[0]) == ("completed", where, where)  # nothing committed is asked again
    assert sorted(counted(client)) == [1, 2]
