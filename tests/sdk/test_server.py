"""Both clients against the real server."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from steadhold.sdk import AsyncClient, Client, errors
from steadhold.server.settings import Settings
from tests.sdk.conftest import Played
from tests.sdk.site import key, served, site  # noqa: F401 - fixtures


@pytest.fixture(params=["sync", "async"])
def real(request, site, key):  # noqa: F811
    """Both clients, one after the other, in a workspace of their own."""
    if request.param == "sync":
        with Client(site.url, key.key) as client:
            yield client
        return
    with asyncio.Runner() as runner:
        client = AsyncClient(site.url, key.key)
        yield Played(client, runner.run)
        runner.run(client.close())


EXACT = [b"9007199254740993", b"1e400", b"1.10", b"-0", b'  {"b": 1,\n "a": 2}  ', b"null", b'"\\u00e9"']


@pytest.mark.parametrize("raw", EXACT)
def test_bytes_read_are_bytes_written(real, raw):
    written = real.state.create("team/a b", raw=raw)
    found = real.state.get("team/a b")
    assert (found.raw, found.revision) == (raw, written.revision)
    assert real.state.put("team/a b", raw=b"1", if_revision=found.revision).revision == found.revision + 1
    assert real.state.get("team/a b", revision=found.revision).raw == raw


@pytest.mark.parametrize("name", ["100%25/%2F", "a+b;c=d&e?f#g", "\u00e9\u4e2d", "'\"<>[]{}|\\^`", "a:b@c~d/..."])
def test_any_name_survives_the_wire(real, name):
    real.state.create(name, 1)
    assert [found.name for found in real.state.names()] == [name]
    assert real.state.get(name).name == name


def test_refusals_are_typed(real):
    real.state.create("a", 1)
    with pytest.raises(errors.RevisionConflict) as conflict:
        real.state.create("a", 1)
    assert conflict.value.current_revision == 1
    with pytest.raises(errors.NotFound):
        real.state.get("b")
    assert real.state.delete("a", if_revision=1).revision == 2
    with pytest.raises(errors.NotFound) as gone:
        real.state.get("a")
    assert gone.value.last_revision == 2


def test_the_same_operation_has_one_effect_and_a_receipt(real):
    first = real.state.create("a", 1, operation_id="mine")
    again = real.state.create("a", 1, operation_id="mine")
    assert (first.replayed, again.replayed, again.revision) == (False, True, first.revision)
    receipt = real.operations.get("mine")
    assert (receipt.committed, receipt.revision, receipt.result["revision"]) == (True, 1, 1)
    with pytest.raises(errors.OperationMismatch):
        real.state.create("a", 2, operation_id="mine")


def test_an_unknown_operation_is_resolved_to_abandoned_and_never_happens(real):
    assert real.operations.resolve("never", wait_seconds=0).state == "abandoned"
    with pytest.raises(errors.OperationAbandoned):
        real.state.create("a", 1, operation_id="never")


def test_updates_of_many_are_all_counted(site, key):  # noqa: F811
    with Client(site.url, key.key) as client, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.state.update("n", lambda n: n + 1, create=0, tries_max=500), range(40)))
        assert client.state.get("n").value == 40


def test_a_list_of_several_pages(real):
    for n in range(5):
        real.state.create(f"p/{n}", n)
    assert [found.name for found in real.state.names("p")] == [f"p/{n}" for n in range(5)]


def test_a_job_from_submission_to_result(real):
    job = real.jobs.submit("resize", {"file": "a.png"}, tags=["t"], operation_id="submit-1")
    assert (job.created, job.state) == (True, "accepted")
    [mine] = real.jobs.claim("worker-1", ["resize"], wait_seconds=5)
    assert (mine.job_id, mine.input, mine.attempt) == (job.job_id, {"file": "a.png"}, 1)
    assert real.jobs.heartbeat(mine.job_id, mine.fence, progress={"done": 1}).cancel_requested is False
    assert real.jobs.get(mine.job_id).progress == {"done": 1}
    real.jobs.checkpoint(mine.job_id, "one", mine.fence, {"n": 1})
    with pytest.raises(errors.CheckpointConflict):
        real.jobs.checkpoint(mine.job_id, "one", mine.fence, {"n": 2})
    assert [c.stage for c in real.jobs.checkpoints(mine.job_id)] == ["one"]
    assert real.jobs.checkpoint_of(mine.job_id, "one").result == {"n": 1}
    real.state.create("report", 1, fences=[mine.grant])
    settled = real.jobs.complete(mine.job_id, mine.fence, raw=b'{"n":  1.10}')
    assert settled.state == "completed"
    assert real.jobs.complete(mine.job_id, mine.fence, raw=b'{"n":  1.10}').state == "completed"
    with pytest.raises(errors.StaleFence):
        real.state.create("late", 1, fences=[mine.grant])
    done = real.jobs.wait(mine.job_id, timeout_seconds=5)
    assert (done.state, done.ended, done.tags) == ("completed", True, ["t"])
    assert real.jobs.result(mine.job_id).raw == b'{"n":  1.10}'
    assert real.jobs.input(mine.job_id).value == {"file": "a.png"}
    history = [event.type for event in real.jobs.events(mine.job_id)]
    assert (history[0], history[-1]) == ("job.accepted", "job.completed")
    assert [j.job_id for j in real.jobs.list(state="completed")] == [mine.job_id]


def test_steering(real):
    job = real.jobs.submit("a", unique_key="k")
    assert real.jobs.submit("a", unique_key="k").created is False
    with pytest.raises(errors.KeyConflict):
        real.jobs.submit("a", 1, unique_key="k")
    assert real.jobs.cancel(job.job_id, reason="no").outcome == "cancelled"
    assert real.jobs.retry(job.job_id).retry_of == job.job_id
    counted = real.jobs.cancel_many({"type": "a", "state": "accepted"})
    assert counted.count == 1
    with pytest.raises(errors.CountChanged):
        real.jobs.cancel_many({"type": "a", "state": "accepted"}, expect_count=7)
    [steered] = real.jobs.cancel_many({"type": "a", "state": "accepted"}, expect_count=1).outcomes
    assert steered.ok


def test_waiting_signals_and_the_other_verdicts(real):
    real.jobs.submit("w")
    [mine] = real.jobs.claim("me", ["w"])
    assert real.jobs.release(mine.job_id, mine.fence).state == "accepted"
    [mine] = real.jobs.claim("me", ["w"])
    assert real.jobs.fail(mine.job_id, mine.fence, "oops", klass="rate_limited").state == "accepted"
    other = real.jobs.submit("x")
    [mine] = real.jobs.claim("me", ["x"])
    assert mine.job_id == other.job_id
    assert real.jobs.wait_for(mine.job_id, mine.fence, "nap", {"timer": 3600}).state == "waiting"
    real.jobs.signal(mine.job_id, "go", {"n": 1})
    with pytest.raises(TimeoutError):
        real.jobs.wait(mine.job_id, timeout_seconds=0)


def test_cancelling_asks_the_worker(real):
    real.jobs.submit("w")
    [mine] = real.jobs.claim("me", ["w"])
    assert real.jobs.cancel(mine.job_id).outcome == "requested"
    assert real.jobs.heartbeat(mine.job_id, mine.fence).cancel_requested is True
    assert real.jobs.confirm_cancel(mine.job_id, mine.fence).state == "cancelled"


def test_many_at_once(real):
    from steadhold.sdk.jobs import Submission

    outcomes = real.jobs.submit_many([Submission(type="m", input={"n": n}) for n in range(3)])
    assert [o.ok for o in outcomes] == [True] * 3
    mine = real.jobs.claim("me", ["m"], limit=10)
    assert len(mine) == 3
    beats = real.jobs.heartbeat_many([(j.job_id, j.fence) for j in mine])
    assert all(b.lease_expires_at for b in beats)
    said = [{"job_id": j.job_id, "fence": j.fence, "outcome": {"state": "completed"}} for j in mine]
    assert [o.state for o in real.jobs.settle_many(said)] == ["completed"] * 3


def test_a_claim_whose_answer_was_lost_gives_what_is_held(real):
    real.jobs.submit("c")
    first = real.jobs.claim("me", ["c"], operation_id="claim-1")
    assert real.jobs.claim("me", ["c"], operation_id="claim-1") == first


def test_job_types(real):
    made = real.jobs.put_type("t", {"attempts_max": 2})
    assert real.jobs.get_type("t").configuration["attempts_max"] == 2
    assert real.jobs.put_type("t", {"attempts_max": 3}, if_revision=made.revision).revision == made.revision + 1


def test_keys_and_the_audit(real, site):  # noqa: F811
    made = real.keys.create("robot", "service", ["state:read"])
    assert made.key not in repr(made)
    with Client(site.url, made.key) as robot, pytest.raises(errors.MissingScope):
        robot.state.create("a", 1)
    assert {k.subject for k in real.keys.list()} == {"owner", "robot"}
    rotated = real.keys.rotate(made.key_id)
    assert rotated.key_id == made.key_id
    assert real.keys.revoke(made.key_id).state == "revoked"
    assert real.keys.get(made.key_id).state == "revoked"
    assert "key.revoked" in {row.kind for row in real.audit.list()}


def test_operators(site, key):  # noqa: F811
    with Client(site.url, site.operator_key, workspace=key.workspace) as operator:
        before = operator.entitlements.get()
        after = operator.entitlements.put({"names_max": 1}, if_revision=before.revision)
        assert after.limits["names_max"] == 1
        assert key.workspace in {w.name for w in operator.workspaces.list()}
        operator.state.create("a", 1)


def test_watching_a_job_ends_with_it(site, key):  # noqa: F811
    with Client(site.url, key.key) as client:
        job = client.jobs.submit("t")
        changes = client.jobs.watch(job.job_id)
        assert next(changes).state == "accepted"
        with ThreadPoolExecutor(1) as pool:
            later = pool.submit(list, changes)
            client.jobs.cancel(job.job_id)
            assert [seen.state for seen in later.result(timeout=20)] == ["cancelled"]
        last = client.jobs.get(job.job_id).revision
        assert list(client.jobs.watch(job.job_id, since=last)) == []
        assert [seen.revision for seen in client.jobs.watch(job.job_id, since=last - 1)] == [last]


def test_watching(site, key):  # noqa: F811
    with Client(site.url, key.key) as client:
        client.state.create("a", 1)
        changes = client.state.watch("a")
        assert next(changes).value == 1
        with ThreadPoolExecutor(1) as pool:
            later = pool.submit(next, changes)
            client.state.put("a", 2, if_revision=1)
            assert later.result(timeout=20).value == 2
        changes.close()


def test_a_server_behind_a_unix_socket(site, key, tmp_path):  # noqa: F811
    settings = Settings(database_url=site.database.dsn, unix_socket=str(tmp_path / "s"), background=False)
    with served(settings) as url, Client(url, key.key) as client:
        assert url.startswith("unix:")
        assert client.state.create("a", 1).revision == client.state.get("a").revision
