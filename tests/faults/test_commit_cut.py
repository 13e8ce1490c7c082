"""The connection to PostgreSQL breaks at a COMMIT: nobody is told a lie, and the receipt says which it was."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter

import pytest

from steadhold import AsyncClient
from steadhold.kit.ids import new_id
from tests.faults.proxy import Fault, Proxy
from tests.faults.servers import Server

JSON = {"content-type": "application/json"}
CUTS = [(fault, delivered) for fault in (Fault.CUT, Fault.RESET) for delivered in (False, True)]


PLAYERS = [(player, alone) for player in ("lockstep", "single") for alone in (False, True)]


@pytest.fixture(params=PLAYERS, ids=lambda it: f"{it[0]}, alone" if it[1] else it[0])
async def proxied(request, house):
    """A proxy, and a server behind it that has only transactions that are asked for, or none where none is needed."""
    player, alone = request.param
    with tempfile.TemporaryDirectory() as folder:
        async with Proxy(house.dsn, folder=folder if alone else None) as proxy:
            made = await asyncio.to_thread(Server, proxy.dsn, player=player, background=False)
            yield proxy, made
            made.close()


@pytest.fixture
def proxy(proxied):
    return proxied[0]


@pytest.fixture
async def client(proxied, key):
    async with proxied[1].aclient(key) as made:
        yield made


async def created(client, name="a"):
    """A name at revision 1; the key is known to the server after this."""
    got = await client.put(f"/v1/state/{name}", content=b"0", headers={"if-none-match": "*", **JSON})
    assert got.status_code == 201


def put(client, operation=None, name="a"):
    headers = {"if-match": '"1"', **JSON}
    if operation:
        headers["idempotency-key"] = operation
    return client.put(f"/v1/state/{name}", content=b"1", headers=headers)


@pytest.mark.parametrize("fault, delivered", CUTS)
async def test_the_answer_is_unknown_and_the_receipt_tells(proxy, client, fault, delivered):
    await created(client)
    operation = new_id()
    struck = proxy.at_commit(fault, delivered=delivered)
    got = await put(client, operation)
    assert struck.is_set()
    problem = got.json()
    assert (got.status_code, problem["code"], problem["next"]) == (503, "outcome_unknown", "resend")
    assert problem["operation_id"] == got.headers["operation-id"] == operation
    told = await client.get(f"/v1/operations/{operation}")
    if delivered:
        assert (told.status_code, told.json()["state"], told.json()["revision"]) == (200, "committed", 2)
    else:
        assert (told.status_code, told.json()["code"]) == (404, "operation_not_committed")
    again = await put(client, operation)
    assert (again.status_code, again.headers["revision"]) == (200, "2")
    assert ("idempotent-replayed" in again.headers) is delivered


@pytest.mark.parametrize("fault, delivered", CUTS)
async def test_without_an_operation_id_a_reading_tells(proxy, client, fault, delivered):
    await created(client)
    proxy.at_commit(fault, delivered=delivered)
    got = await put(client)
    assert (got.status_code, got.json()["code"]) == (503, "outcome_unknown")
    assert "operation_id" not in got.json()
    assert (await client.get("/v1/state/a")).headers["revision"] == ("2" if delivered else "1")


@pytest.mark.parametrize("fault, delivered", CUTS)
async def test_abandoning_settles_it(proxy, client, fault, delivered):
    await created(client)
    operation = new_id()
    proxy.at_commit(fault, delivered=delivered)
    assert (await put(client, operation)).status_code == 503
    told = await client.post(f"/v1/operations/{operation}/abandon")
    assert (told.status_code, told.json()["state"]) == (200, "committed" if delivered else "abandoned")
    late = await put(client, operation)
    assert late.status_code == (200 if delivered else 409)
    assert (await client.get("/v1/state/a")).headers["revision"] == ("2" if delivered else "1")


@pytest.mark.parametrize("fault, delivered", CUTS)
async def test_the_client_resolves_it_by_itself(proxied, client, key, fault, delivered):
    proxy, running = proxied
    await created(client)
    async with AsyncClient(running.url, key) as sdk:
        struck = proxy.at_commit(fault, delivered=delivered)
        written = await sdk.state.put("a", 1, if_revision=1)
        assert struck.is_set()
        assert (written.revision, written.replayed) == (2, delivered)
        struck = proxy.at_commit(fault, delivered=delivered)
        job = await sdk.jobs.submit("t")
        assert struck.is_set()
        assert [found.job_id async for found in sdk.jobs.list()] == [job.job_id]
        struck = proxy.at_commit(fault, delivered=delivered)
        claimed = await sdk.jobs.claim("me", ["t"])
        assert struck.is_set()
        assert [held.job_id for held in claimed] == [job.job_id]
        struck = proxy.at_commit(fault, delivered=delivered)
        settled = await sdk.jobs.complete(job.job_id, claimed[0].fence, 1)
        assert struck.is_set()
        assert settled.state == (await sdk.jobs.get(job.job_id)).state == "completed"


@pytest.mark.parametrize("delivered", [False, True])
async def test_many_at_once_each_learn_their_own_fate(proxy, client, delivered):
    """Those who shared the transaction do not know; the others do. Sent again, each is there once."""
    names = [f"n{n}" for n in range(40)]
    await asyncio.gather(*(created(client, name) for name in names))
    operations = {name: new_id() for name in names}
    struck = proxy.at_commit(Fault.CUT, delivered=delivered, passes=1)
    first = await put(client, operations["n0"], "n0")
    got = [first, *await asyncio.gather(*(put(client, operations[name], name) for name in names[1:]))]
    assert struck.is_set()
    seen = Counter(answer.status_code for answer in got)
    assert set(seen) == {200, 503}
    for name, answer in zip(names, got, strict=True):
        revision = (await client.get(f"/v1/state/{name}")).headers["revision"]
        assert revision == ("2" if answer.status_code == 200 or delivered else "1")
        again = await put(client, operations[name], name)
        assert (again.status_code, again.headers["revision"]) == (200, "2")
        assert ("idempotent-replayed" in again.headers) is (revision == "2")


@pytest.mark.parametrize("fault, delivered", CUTS)
async def test_a_reading_is_not_available_and_never_unknown(request, proxy, client, fault, delivered):
    """Where nothing had to be committed, a player of many together reads again for each of them."""
    await created(client)
    struck = proxy.at_commit(fault, delivered=delivered)
    got = await client.get("/v1/state/a")
    assert struck.is_set()
    if request.node.callspec.params["proxied"] == ("lockstep", True):
        assert (got.status_code, got.content) == (200, b"0")
    else:
        assert (got.status_code, got.json()["code"]) == (503, "unavailable")
    assert (await client.get("/v1/state/a")).content == b"0"


@pytest.mark.parametrize("fault, delivered", CUTS)
async def test_a_key_that_could_not_be_read_is_not_an_unknown_outcome(proxy, client, fault, delivered):
    struck = proxy.at_commit(fault, delivered=delivered)
    got = await client.put("/v1/state/a", content=b"0", headers={"if-none-match": "*", **JSON})
    assert struck.is_set()
    assert (got.status_code, got.json()["code"]) == (503, "unavailable")
    assert (await client.get("/v1/state/a")).status_code == 404
