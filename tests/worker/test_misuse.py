"""What cannot work is said at once, in a sentence that says what to do."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from steadhold import AsyncClient
from steadhold.worker import Worker, wake
from steadhold.worker.door import DoorRefused
from steadhold.worker.on_postgres import OnPostgres, WorkspaceMissing
from steadhold.worker.place import STATEMENTS_VARIABLE
from tests.test_base_install import imported

DSN = {"dsn": "postgresql://a", "workspace": "w"}
ABOUT = {
    "two places": ({"url": "http://a", "dsn": "postgresql://a", "workspace": "w"}, "either"),
    "no workspace": ({"dsn": "postgresql://a"}, "workspace="),
    "statements over HTTP": ({"url": "http://a", "prepared_statements": 0}, "say dsn="),
    "less than no statements": ({**DSN, "prepared_statements": -1}, "prepared_statements is 0 to 10000. It was -1"),
    "too many statements": ({**DSN, "prepared_statements": 10_001}, "prepared_statements is 0 to 10000"),
    "no places": ({"concurrency": 0}, "concurrency"),
    "less than none ahead": ({"prefetch": -1}, "prefetch"),
    "a lease too short": ({"lease_seconds": 0.5}, "lease_seconds"),
    "a lease too long": ({"lease_seconds": 3_601}, "lease_seconds"),
    "draining into the past": ({"drain_seconds": -1}, "drain_seconds"),
    "asking all the time": ({"poll_seconds_max": 0}, "poll_seconds_max"),
    "a name that is no id": ({"name": "a b"}, "name"),
}


@pytest.mark.parametrize("given, why", ABOUT.values(), ids=ABOUT)
def test_a_worker_that_cannot_be(given, why):
    with pytest.raises(ValueError, match=why):
        Worker(**given)


async def handler(ctx, input):
    pass


def test_handlers_that_cannot_be():
    worker = Worker("http://a", "k")
    with pytest.raises(ValueError, match="cannot be used"):
        worker.job("no/id")
    with pytest.raises(ValueError, match="concurrency"):
        worker.job("t", concurrency=0)
    worker.job("t")(handler)
    with pytest.raises(ValueError, match="handler already"):
        worker.job("t")
    for n in range(99):
        worker.job(f"t{n}")(handler)
    with pytest.raises(ValueError, match="at most 100"):
        worker.job("one-more")


def test_a_worker_without_handlers_does_not_start():
    with pytest.raises(ValueError, match=r"@worker\.job"):
        Worker("http://a", "k").run()


def test_where_jobs_come_from_may_be_said_later():
    worker = Worker("http://a", "k", name="one")
    worker.use(dsn="postgresql://b", workspace="w", name="two", concurrency=3)
    assert (worker._place.url, worker._place.api_key, worker._place.dsn) == (None, None, "postgresql://b")
    assert (worker.name, worker._concurrency) == ("two", 3)
    worker.use("http://c", "k2")
    assert (worker._place.url, worker._place.dsn) == ("http://c", None)
    assert worker.name == "two"
    with pytest.raises(ValueError, match="concurrency"):
        worker.use(concurrency=0)


def test_how_many_statements_are_kept_may_be_said_later(monkeypatch):
    monkeypatch.delenv(STATEMENTS_VARIABLE, raising=False)
    worker = Worker(**DSN)
    assert worker._place._statements() == 1_000
    monkeypatch.setenv(STATEMENTS_VARIABLE, "0")
    assert worker._place._statements() == 0
    worker.use(prepared_statements=7)
    assert worker._place._statements() == 7  # what was said wins over the environment
    worker.use(dsn="postgresql://b")
    assert (worker._place.dsn, worker._place._statements()) == ("postgresql://b", 7)
    worker.use("http://c", "k")
    assert worker._place.prepared_statements is None
    with pytest.raises(ValueError, match="say dsn="):
        worker.use(prepared_statements=0)


def test_where_jobs_come_from_may_be_said_after_how_many_statements_are_kept():
    worker = Worker(prepared_statements=0)
    with pytest.raises(ValueError, match="say dsn="):
        worker._place.doors()
    worker.use(**DSN)
    assert (worker._place.dsn, worker._place._statements()) == (DSN["dsn"], 0)


@pytest.mark.parametrize("said", ["1e1", "-1", "1_0", "7.0", "10001", "9" * 17, " 1"])
def test_statements_in_the_environment_are_plain_digits(monkeypatch, said):
    monkeypatch.setenv(STATEMENTS_VARIABLE, said)
    with pytest.raises(ValueError, match=STATEMENTS_VARIABLE):
        Worker(**DSN)._place.doors()
    monkeypatch.setenv(STATEMENTS_VARIABLE, "")
    assert Worker(**DSN)._place.doors()


async def test_a_workspace_that_is_not_there(dsn):
    worker = Worker(dsn=dsn, workspace="nobody-s")
    worker.job("t")(handler)
    with pytest.raises(WorkspaceMissing, match="nobody-s"):
        await worker.serve()


async def test_a_key_that_is_not_known(over_http):
    worker = Worker(over_http.place["url"], "sk_test_" + "a" * 40)
    worker.job("t")(handler)
    with pytest.raises(DoorRefused, match="401"):
        await worker.serve()


async def test_a_worker_works_once_at_a_time(on_postgres):
    worker = on_postgres.worker()
    worker.job("t")(handler)
    async with on_postgres.working(worker):
        with pytest.raises(RuntimeError, match="at work already"):
            await worker.serve()


async def test_told_to_stop_before_it_began_it_does_not_begin(on_postgres):
    worker = on_postgres.worker()
    worker.job("t")(handler)
    worker.stop()
    await worker.serve()
    assert [moment.name for moment in worker.probe.moments][-1] == "worker.stopped"


async def test_it_works_as_a_client_is_set_up(over_http):
    async with AsyncClient(**over_http.place) as client:
        worker = over_http.worker()
        worker._place = Worker(client=client)._place
        worker.job("t")(handler)
        id = await over_http.submit()
        async with over_http.working(worker) as probe:
            await probe.seen("job.settled", job_id=id)
        assert (await client.jobs.get(id)).state == "completed"


async def test_a_hint_reaches_the_listeners_of_its_workspace(dsn, workspace, database):
    door, heard = OnPostgres(dsn, workspace, size=1), asyncio.Queue()
    listening = asyncio.create_task(door.listen(heard.put_nowait))
    conn = await asyncpg.connect(dsn)
    try:
        while heard.empty():  # until it listens
            await wake(conn, workspace, ["listens"])
            await asyncio.sleep(0)
        await wake(conn, database.new_workspace(), ["elsewhere"])
        await wake(conn, workspace, ["a", "b", "a"])
        types = [await heard.get()]
        while types[-1] != "b":
            types.append(await heard.get())
        assert [type for type in types if type != "listens"] == ["a", "b"]
    finally:
        listening.cancel()
        await conn.close()
        await door.close()


def test_over_http_it_needs_the_base_install_alone():
    ran = imported("steadhold.worker")
    assert (ran.returncode, ran.stderr) == (0, "")
