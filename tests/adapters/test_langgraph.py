"""LangGraph's own conformance kit, and what it does not ask, against a real server."""

from __future__ import annotations

import itertools

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from steadhold.adapters.langgraph import SteadholdSaver
from steadhold.kit.fields import FenceRef
from steadhold.sdk import Client
from steadhold.sdk.errors import StaleFence

NOT_HERE = {"delete_for_runs", "prune"}
CAPABILITIES = sorted({one.value for one in Capability} - NOT_HERE)


@pytest.fixture
def client(site, key):
    with Client(site.url, key.key) as client:
        yield client


@pytest.fixture
def saver(client):
    return SteadholdSaver(client)


def put(saver, id, thread="t", parent=None, **values):
    checkpoint = empty_checkpoint() | {"id": id, "channel_values": values}
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": parent}}
    return saver.put(config, checkpoint, {"source": "loop", "step": 1}, {})


@pytest.mark.parametrize("capability", CAPABILITIES)
async def test_the_kit_passes(client, capability):
    prefixes = itertools.count()

    async def fresh():
        yield SteadholdSaver(client, prefix=f"kit/{next(prefixes)}")

    told = await validate(checkpointer_test("SteadholdSaver")(fresh), capabilities={capability})
    result = told.results[capability]
    assert (result.detected, result.failures) == (True, [])
    assert result.tests_passed > 0


async def test_what_is_not_there_is_said(client):
    async def fresh():
        yield SteadholdSaver(client)

    told = await validate(checkpointer_test("SteadholdSaver")(fresh), capabilities=NOT_HERE)
    assert {name for name, result in told.results.items() if result.detected} == set()


@pytest.mark.parametrize("thread", ["a/b", "..", "", "\u00fc \\", "x" * 400, "100%"])
def test_a_thread_has_any_name(saver, thread):
    config = put(saver, "1", thread, a=1)
    found = saver.get_tuple({"configurable": {"thread_id": thread}})
    assert (found.config, found.checkpoint["channel_values"]) == (config, {"a": 1})
    saver.delete_thread(thread)
    assert saver.get_tuple({"configurable": {"thread_id": thread}}) is None


def test_a_thread_may_be_named_by_a_number(saver):
    put(saver, "1", 7, a=1)
    saver.copy_thread(7, 8)
    for thread in (7, 8):
        (found,) = saver.list({"configurable": {"thread_id": thread}})
        assert found.config["configurable"]["thread_id"] == str(thread)
        saver.delete_thread(thread)
    assert list(saver.list(None)) == []


def test_the_newest_comes_first_whatever_ids_are(saver):
    ids = ["a", "ab", "b", "", "\u00fc", "~", "zz"]
    for id in ids:
        put(saver, id)
    listed = [one.checkpoint["id"] for one in saver.list({"configurable": {"thread_id": "t"}})]
    assert listed == sorted(ids, key=str.encode, reverse=True)
    assert saver.get_tuple({"configurable": {"thread_id": "t"}}).checkpoint["id"] == listed[0]


def test_what_is_written_twice_is_there_once(saver):
    config = put(saver, "1")
    saver.put_writes(config, [("a", 1), ("b", 2)], "task")
    saver.put_writes(config, [("a", 3), ("b", 4), ("c", 5)], "task")
    saver.put_writes(config, [("__interrupt__", "first")], "task")
    saver.put_writes(config, [("__interrupt__", "second")], "task")
    pending = saver.get_tuple(config).pending_writes
    assert pending == [("task", "__interrupt__", "second"), ("task", "a", 1), ("task", "b", 2), ("task", "c", 5)]


def test_writes_come_in_the_order_in_which_they_are_applied(saver):
    config = put(saver, "1")
    saver.put_writes(config, [("a", "late")], "1", "~__pregel_pull, b")
    saver.put_writes(config, [("a", "early")], "2", "~__pregel_pull, a")
    assert [value for _, _, value in saver.get_tuple(config).pending_writes] == ["early", "late"]


def test_a_worker_that_was_replaced_writes_nothing_more(client):
    job = client.jobs.submit("graph", None)
    (held,) = client.jobs.claim("w", ["graph"])
    own = SteadholdSaver(client, fences=[held.grant])
    put(own, "1")
    stale = SteadholdSaver(client, fences=[FenceRef(held.grant.subject, held.fence + 1)])
    with pytest.raises(StaleFence):
        put(stale, "2")
    with pytest.raises(StaleFence):
        stale.put_writes(put(own, "1"), [("a", 1)], "task")
    assert [one.checkpoint["id"] for one in own.list(None)] == ["1"]
    assert client.jobs.get(job.job_id).state == "running"
