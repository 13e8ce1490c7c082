"""Every change, its request or its answer lost on the way to the real server: one effect, and the caller knows it."""

from __future__ import annotations

import httpx2
import pytest

from steadhold.sdk import Client, errors
from steadhold.sdk.retry import Patience
from tests.sdk.site import key, site  # noqa: F401 - fixtures


class Lossy(httpx2.HTTPTransport):
    """Loses what it is told to: "request" before the server sees it, "answer" after it has acted."""

    def __init__(self):
        super().__init__()
        self.losing = []
        self.lost = []

    def handle_request(self, request):
        what = self.losing.pop(0) if self.losing else None
        if what == "request":
            self.lost.append(what)
            raise httpx2.WriteError("lost on the way there")
        answer = super().handle_request(request)
        if what == "answer":
            answer.read()
            answer.close()
            self.lost.append((what, answer.status_code))
            raise httpx2.ReadError("lost on the way back")
        return answer


@pytest.fixture
def line():
    return Lossy()


@pytest.fixture
def client(site, key, line):  # noqa: F811
    with Client(site.url, key.key, transport=line, patience=Patience(20, base_seconds=0.001)) as client:
        yield client


def replaced(client):
    client.state.create("a", 1)
    return lambda: (client.state.put("a", 2, if_revision=1).revision, len(list(client.state.revisions("a"))))


def deleted(client):
    client.state.create("a", 1)
    return lambda: (client.state.delete("a", if_revision=1).revision, len(list(client.state.names())))


def updated(client):
    client.state.create("a", 1)
    return lambda: client.state.update("a", lambda n: n + 1).value


def submitted(client):
    return lambda: (client.jobs.submit("t").state, len(list(client.jobs.list())))


def cancelled(client):
    job = client.jobs.submit("t")
    return lambda: (client.jobs.cancel(job.job_id).outcome, client.jobs.get(job.job_id).revision - job.revision)


def claimed(client):
    client.jobs.submit("t")
    client.jobs.submit("t")
    return lambda: (len(client.jobs.claim("me", ["t"])), len(list(client.jobs.list(state="running"))))


def mine(client):
    client.jobs.submit("t")
    [job] = client.jobs.claim("me", ["t"])
    return job


def checkpointed(client):
    job = mine(client)
    return lambda: (
        client.jobs.checkpoint(job.job_id, "s", job.fence, 1).stage,
        [c.result for c in client.jobs.checkpoints(job.job_id)],
    )


def completed(client):
    job = mine(client)
    return lambda: (client.jobs.complete(job.job_id, job.fence, 1).state, client.jobs.result(job.job_id).value)


def failed(client):
    job = mine(client)
    return lambda: client.jobs.fail(job.job_id, job.fence, "x", klass="permanent").state


def released(client):
    job = mine(client)
    return lambda: (client.jobs.release(job.job_id, job.fence).state, client.jobs.get(job.job_id).attempt)


CHANGES = [replaced, deleted, updated, submitted, cancelled, claimed, checkpointed, completed, failed, released]
LOSSES = [
    pytest.param(["request"], id="request"),
    pytest.param(["answer"], id="answer"),
    pytest.param(["request", "answer", "answer"], id="request and two answers"),
]


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_was_lost_on_the_way_is_made_once(client, line, site, change, losses):  # noqa: F811
    act = change(client)
    with Client(site.url, site.workspace().key) as calm:
        expected = change(calm)()
    line.losing[:] = ([None] if change is updated else []) + losses
    assert act() == expected
    assert len(line.lost) == len(losses)


def test_a_lost_answer_without_time_for_retries_is_unknown_and_resolved(site, key, line):  # noqa: F811
    with Client(site.url, key.key, transport=line, give_up_seconds=0) as client:
        line.losing[:] = ["answer"]
        with pytest.raises(errors.OutcomeUnknown) as unknown:
            client.state.create("a", 1)
        receipt = client.operations.resolve(unknown.value)
        assert (receipt.committed, receipt.result["revision"]) == (True, client.state.get("a").revision)


def test_a_lost_request_without_time_for_retries_is_resolved_either_way(site, key, line):  # noqa: F811
    with Client(site.url, key.key, transport=line, give_up_seconds=0) as client:
        line.losing[:] = ["request", None, None, "request"]
        with pytest.raises(errors.OutcomeUnknown) as first:
            client.state.create("a", 1)
        assert client.operations.resolve(first.value, wait_seconds=0).state == "abandoned"
        with pytest.raises(errors.OutcomeUnknown) as second:
            client.state.create("a", 1)
        assert client.operations.resolve(second.value, wait_seconds=0, resend=True).committed
        assert client.state.get("a").value == 1


def test_who_lost_the_answer_and_the_race_learns_that_it_had_won(client, line):
    """Somebody replaced our revision before our retry: the receipt says that we had written ours."""
    line.losing[:] = ["answer"]

    def overtake(request):
        line.handle_request = plain
        with Client(client.url, client._address.api_key) as other:
            other.state.put("a", "theirs", if_revision=1)
        return plain(request)

    plain = line.handle_request
    first = plain

    def handle(request):
        try:
            return first(request)
        finally:
            line.handle_request = overtake

    line.handle_request = handle
    ours = client.state.create("a", "ours")
    assert (ours.revision, ours.replayed) == (1, True)
    assert client.state.get("a").value == "theirs"


def relied(client, name):
    grant = client.locks.acquire(name)
    return grant, [grant.grant]


def test_who_relied_on_what_it_released_itself_is_not_told_that_nothing_was_changed(client, line):
    grant, fences = relied(client, "a")
    line.losing[:] = ["answer"]
    with pytest.raises(errors.OutcomeUnknown, match="stale_fence"):
        client.locks.release("a", grant.fence, fences=fences)
    assert not client.locks.get("a").held


def test_an_event_that_was_taken_before_its_grant_ended_is_not_told_as_refused(client, line):
    grant, fences = relied(client, "a")
    inbox = client.inboxes["i"]
    inbox.create()
    plain = line.handle_request

    def handle(request):
        line.handle_request = plain
        answer = plain(request)
        client.locks.release("a", grant.fence)
        answer.close()
        raise httpx2.ReadError("lost on the way back")

    line.handle_request = handle
    with pytest.raises(errors.OutcomeUnknown, match="stale_fence"):
        inbox.append("t", 1, key="k", fences=fences)
    assert inbox.append("t", 1, key="k").sequence == 1


def test_a_lock_that_is_anothers_after_a_lost_release_may_have_been_released(client, line):
    grant, _ = relied(client, "a")
    plain = line.handle_request

    def handle(request):
        line.handle_request = plain
        plain(request).close()
        client.locks.acquire("a", owner="another")
        raise httpx2.ReadError("lost on the way back")

    line.handle_request = handle
    with pytest.raises(errors.OutcomeUnknown, match="lock_lost"):
        client.locks.release("a", grant.fence)
    assert client.locks.get("a").owner == "another"
