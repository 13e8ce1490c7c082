"""Acknowledge, write, append and finish: together, or not at all."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from steadhold import inboxes
from steadhold.commits import run
from steadhold.inboxes import Appended, Restored
from steadhold.inboxes.model import Elsewhere, NoConsumer
from steadhold.sdk import Client
from steadhold.sdk.errors import BeyondHead, InboxRestored, NotFound, OperationMismatch, RevisionConflict, StaleFence
from tests.sdk.site import key, site  # noqa: F401 - fixtures


@pytest.fixture
def client(site, key):  # noqa: F811
    with Client(site.url, key.key) as made:
        yield made


@pytest.fixture
def work(client):
    """An event to be handled, a job that handles it, and an inbox for what comes of it."""
    for name in ("orders", "invoices"):
        client.inboxes[name].create()
    client.inboxes["orders"].append("order.paid", {"n": 7}, key="order-7")
    client.inboxes["orders"].consumer("billing").create()
    client.jobs.put_type("bill", {})
    client.jobs.submit("bill")
    (job,) = client.jobs.claim("w", ["bill"])
    return job


def handled(client, job, sequence=1):
    epoch = client.inboxes["orders"].get().epoch
    with client.commit() as commit:
        done = commit.apply.jobs.complete(job.job_id, job.fence, {"ok": True})
        sent = commit.apply.inboxes["invoices"].append("invoice.made", {"n": 7}, key="invoice-7")
        commit.apply.state.create("invoice/7", 7)
        acked = commit.apply.inboxes["orders"].consumer("billing").acknowledge(epoch, sequence)
    return done.result, sent.result, acked.result


def stands(client):
    boxes = client.inboxes
    return boxes["orders"].consumer("billing").get().position, boxes["invoices"].get().last_sequence


def test_all_of_it_happens(client, work):
    done, sent, acked = handled(client, work)
    assert (done.state, sent.sequence, acked.position) == ("completed", 1, 1)
    assert stands(client) == (1, 1)
    assert client.inboxes["invoices"].read().events[0].value == {"n": 7}
    assert client.state.get("invoice/7").value == 7


def test_or_nothing(client, work):
    with pytest.raises(BeyondHead) as refused:
        handled(client, work, sequence=2)
    assert (refused.value.extras["list"], refused.value.extras["index"]) == ("apply", 3)
    assert stands(client) == (0, 0)
    client.inboxes["invoices"].append("invoice.made", {"n": 8}, key="invoice-7")
    with pytest.raises(OperationMismatch):
        handled(client, work)
    assert stands(client) == (0, 1)
    assert client.jobs.get(work.job_id).state == "running"


def test_two_events_and_two_consumers_in_one(client, work):
    epoch = client.inboxes["orders"].get().epoch
    client.inboxes["orders"].consumer("audit").create()
    with client.commit() as commit:
        sent = [commit.apply.inboxes["invoices"].append("t", n, key=f"k{n}") for n in range(3)]
        for name in ("billing", "audit"):
            commit.apply.inboxes["orders"].consumer(name).acknowledge(epoch, 1)
    assert [one.result.sequence for one in sent] == [1, 2, 3]
    assert [one.position for one in client.inboxes["orders"].consumers()] == [1, 1]


def test_what_relies_on_a_lease_goes_with_it(client, work):
    billing = client.inboxes["orders"].consumer("billing")
    lease = billing.lease("me", operation_id="one")
    with client.commit() as commit:
        commit.apply.state.create("a", 1, fences=[lease.grant])
        commit.apply.state.create("b", 1, fences=[lease.grant])
    billing.release(lease.fence)
    with pytest.raises(StaleFence), client.commit() as commit:
        commit.apply.state.create("c", 1, fences=[lease.grant])
    assert client.state.get("b").value == 1
    with pytest.raises(NotFound):
        client.state.get("c")


def test_the_guide_handles_an_event_once(client, work):
    """The program of the guide: once it happens, and to whoever read the same event nothing."""
    guide = files("steadhold.commits").joinpath("guide.md").read_text(encoding="utf-8")
    section = guide.partition("## Handling an event once")[2].partition("\n## ")[0]
    reading, writing = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1].split("\n\n", 1)
    names = {"client": client, "job": work}
    exec(reading, names)
    exec(writing, names)
    assert stands(client) == (1, 1)
    assert client.state.get("orders/7/paid").value == {"n": 7}
    assert client.jobs.get(work.job_id).state == "completed"
    with pytest.raises(RevisionConflict) as refused:
        exec(writing, names)
    told = refused.value.extras
    assert (told["list"], told["index"], told["position"]) == ("require", 0, 1)
    assert stands(client) == (1, 1)


def at(client, epoch, position, consumer="billing"):
    with client.commit() as commit:
        commit.require.inboxes["orders"].consumer(consumer).get(epoch=epoch, position=position)
        commit.apply.state.create("a", 1)


def test_where_a_consumer_must_stand(client, work):
    epoch = client.inboxes["orders"].get().epoch
    for wrong, why in (((epoch, 1), RevisionConflict), (("other", 0), InboxRestored), ((epoch, 0, "audit"), NotFound)):
        with pytest.raises(why):
            at(client, *wrong)
    at(client, epoch, 0)
    assert client.state.get("a").value == 1


@pytest.mark.races
@pytest.mark.parametrize("rival", ["acknowledge", "delete_consumer", "delete"])
def test_a_position_that_is_required_stays_so_to_the_commit(explore, rival):
    """Whoever would move or delete the consumer waits for the commit that relies on it, or is there before it."""

    def plant(stage):
        ws = stage.workspace
        stage.play(inboxes.put.call(ws, "a", inboxes.Retention(), None))
        stage.play(inboxes.append.call(ws, "a", [inboxes.item("k", inboxes.Envelope("t"), b"1")]))
        made = stage.play(inboxes.put_consumer.call(ws, "a", "c", inboxes.Start("earliest"), None))
        return stage.play(inboxes.get.call(ws, "a")).epoch, made.revision

    def relies(scene):
        ws, (epoch, _) = scene.workspace, scene.facts
        append = inboxes.append_one.call(ws, "a", inboxes.item("n", inboxes.Envelope("t"), b"2"))
        return run.call(ws, [inboxes.require.call(ws, "a", "c", epoch, 0)], [append])

    def moves(scene):
        ws, (epoch, revision) = scene.workspace, scene.facts
        if rival == "acknowledge":
            return inboxes.acknowledge.call(ws, "a", "c", epoch, 1)
        if rival == "delete":
            return inboxes.delete.call(ws, "a", 1)
        return inboxes.delete_consumer.call(ws, "a", "c", revision)

    def check(scene):
        came = scene.outcomes["relies"]
        if type(came).__name__ == "Committed":
            assert isinstance(came.apply[0], Appended)
        else:
            assert isinstance(came.outcome, Elsewhere | NoConsumer), came
            assert not isinstance(came.outcome, Restored)
            assert rival == "delete" or scene.play(inboxes.get.call(scene.workspace, "a")).last_sequence == 1

    seen = explore(setup=plant, actors={"relies": relies, "moves": moves}, always=check)
    assert seen.waits
    assert {type(outcomes["relies"]).__name__ for outcomes in seen.outcomes} == {"Committed", "Refused"}
