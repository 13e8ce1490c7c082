"""One charge that fifty submit at once, whose answers are lost on the way: one entry, and one action."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.kit.ids import new_id
from tests.faults.proxy import Fault
from tests.faults.servers import house, key, key_in, place  # noqa: F401 - fixtures
from tests.faults.test_commit_cut import client, proxied, proxy  # noqa: F401 - fixtures

CHARGE = {"entry_id": "order-7", "amount": "12.50", "currency": "EUR"}
MEANT = {"effect_id": "charge-7", "kind": "charge", "target": "venue", "request_digest": f"sha256:{'a' * 64}"}


async def insisted(client, target, body):  # noqa: F811
    """Sent until somebody answers, each time under another operation id: as by whoever forgot the first."""
    lost = 0
    while True:
        got = await client.post(target, json=body, headers={"idempotency-key": new_id()})
        if got.status_code != 503:
            return got, lost
        lost += 1


@pytest.mark.parametrize("delivered", [False, True])
async def test_fifty_submissions_with_lost_answers_are_one_entry(proxy, client, delivered):  # noqa: F811
    """Whether the commits whose answers were lost took effect or not."""
    (await client.get("/v1/effects")).raise_for_status()  # the key is known after this
    struck = proxy.at_commit(Fault.CUT, delivered=delivered)
    got = await asyncio.gather(*[insisted(client, "/v1/journals/sales/entries", CHARGE) for _ in range(50)])
    assert struck.is_set()
    assert sum(lost for _, lost in got) >= 1
    assert {answer.status_code for answer, _ in got} <= {200, 201}
    assert len({answer.content for answer, _ in got}) == 1
    assert len((await client.get("/v1/journals/sales/entries")).json()["items"]) == 1


@pytest.mark.parametrize("delivered", [False, True])
async def test_fifty_that_begin_one_action_with_lost_answers_begin_it_once(proxy, client, delivered):  # noqa: F811
    """At most one acts: a "yours" that was lost is found under its own operation id alone."""
    (await client.post("/v1/effects", json=MEANT)).raise_for_status()
    proxy.at_commit(Fault.CUT, delivered=delivered)

    async def begin(operation):
        while True:
            got = await client.post("/v1/effects/charge-7/initiate", json={}, headers={"idempotency-key": operation})
            if got.status_code != 503:
                return got.status_code

    got = await asyncio.gather(*[begin(new_id()) for _ in range(50)])
    assert sorted(got) == [200, *[409] * 49]
    assert (await client.get("/v1/effects/charge-7")).json()["initiations"] == 1
