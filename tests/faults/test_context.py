"""Uploads on real servers: the last of a quota, kills in the midst of them, and what they leave."""

from __future__ import annotations

import asyncio
import hashlib
import os

import pytest

from steadhold import access
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES, CONTEXT_WHOLE_BYTES_MAX, UPLOAD_LEASE_SECONDS
from tests.faults.servers import LOST, house, key, place, server  # noqa: F401 - fixtures
from tests.faults.standby import until

SMALL = 1_000
LARGE = CONTEXT_WHOLE_BYTES_MAX + CONTEXT_CHUNK_BYTES
CREATE = {"if-none-match": "*"}


def entitle(house, place, bytes_max):  # noqa: F811
    with house.enter(place) as conn, conn.transaction():
        by = access.Actor("operator", None)
        access.put_entitlements(conn, place, access.Entitlements(bytes_max=bytes_max), None, by=by)


def usage(client):
    return client.get("/v1/context:usage").json()


def chunks(house, place):  # noqa: F811
    with house.enter(place) as conn:
        return conn.execute("select count(*) from steadhold.blobs where chunk < 0").fetchone()[0]


@pytest.mark.parametrize("player", ["lockstep", "single"])
async def test_200_uploads_race_for_the_last_of_the_quota(house, place, key, player):  # noqa: F811
    """Three large ones fit, or many small ones: never more than the quota, and nothing of the others is left."""
    most = 3 * LARGE + 50 * SMALL
    entitle(house, place, most)
    with server(house.dsn, player=player) as made:
        async with made.aclient(key) as client:

            async def send(number):
                body = os.urandom(LARGE if number % 20 == 0 else SMALL)
                return await client.put(f"/v1/context/{number}", content=body, headers=CREATE)

            answers = await asyncio.gather(*map(send, range(200)))
        with made.client(key) as client:
            files = [one["bytes"] for one in client.get("/v1/context?limit=1000").json()["items"]]
            found = usage(client)
    assert {answer.status_code for answer in answers} == {201, 507}
    assert len(files) == sum(answer.status_code == 201 for answer in answers)
    assert sum(files) == found["bytes"] <= most
    assert most - sum(files) < LARGE
    assert (found["reserved"], chunks(house, place)) == (0, 0)


@pytest.mark.parametrize(
    "failpoint", ["blobs.keep=kill:3", "context.write=kill", "blobs.adopt=kill", "blobs.drop=kill"]
)
def test_an_upload_whose_server_dies_is_not_there_and_gives_back_what_it_had(house, place, key, failpoint):  # noqa: F811
    """What is left is swept by another server once the lease is over; the same request then succeeds."""
    entitle(house, place, LARGE)
    body = os.urandom(LARGE)
    with server(house.dsn, failpoints=failpoint, background=False, player="single") as dying:
        with dying.client(key) as client, pytest.raises(LOST):
            client.put("/v1/context/n", content=body, headers=CREATE)
        dying.died()
    house.clock.move(UPLOAD_LEASE_SECONDS + 1)
    try:
        with server(house.dsn) as made, made.client(key) as client:
            assert client.get("/v1/context/n").status_code == 404
            until(lambda: usage(client)["reserved"] == 0)
            assert chunks(house, place) == 0
            assert client.put("/v1/context/n", content=body, headers=CREATE).status_code == 201
            assert client.get("/v1/context/n").content == body
    finally:
        house.clock.reset()


async def test_the_memory_of_a_server_stays_while_large_files_come_and_go(house, place, key):  # noqa: F811
    """16 at once, 16 MiB each, up and down again."""
    body = os.urandom(16 * 1024 * 1024)
    digest = hashlib.sha256(body).hexdigest()
    with server(house.dsn) as made:
        async with made.aclient(key) as client:

            async def send(number, body=body):
                answer = await client.put(f"/v1/context/{number}", content=body, headers=CREATE)
                assert answer.status_code == 201, answer.text
                return answer.json()["digest"]

            async def read(number):
                seen, most = hashlib.sha256(), 0
                async with client.stream("GET", f"/v1/context/{number}") as answer:
                    async for piece in answer.aiter_raw():
                        seen.update(piece)
                        most = max(most, made.memory_bytes())
                return seen.hexdigest(), most

            await asyncio.gather(*[send(f"warm{number}", body[:LARGE]) for number in range(16)])
            before = made.memory_bytes()
            assert set(await asyncio.gather(*map(send, range(16)))) == {digest}
            after = made.memory_bytes()
            came = await asyncio.gather(*map(read, range(16)))
    assert {one for one, _ in came} == {digest}
    assert max(after, *[most for _, most in came]) - before < 64 * 1024 * 1024
