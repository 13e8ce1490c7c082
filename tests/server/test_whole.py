"""The rooms through the whole flow: replay, receipts, one winner, other workspaces, long polls."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from steadhold import state
from steadhold.kit.ids import new_id, uuid7
from tests.server.conftest import key_of
from tests.web.toy import Client


async def test_a_replay_gives_the_first_answer_again(call):
    key = new_id()
    first = await call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=key)
    again = await call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=f'"{key}"')
    assert first.status == again.status == 201
    assert first.body == again.body
    for name in ("etag", "revision", "operation-id", "content-type"):
        assert first.headers[name] == again.headers[name]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"


async def test_another_request_under_the_same_id_is_refused(call):
    key = new_id()
    assert (await call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=key)).status == 201
    for target, body, headers in (
        ("/v1/state/a", b"[2]", {"if_none_match": "*"}),
        ("/v1/state/b", b"[1]", {"if_none_match": "*"}),
        ("/v1/state/a", b"[1]", {"if_match": '"1"'}),
    ):
        got = await call("PUT", target, body, idempotency_key=key, **headers)
        assert (got.status, got.code) == (422, "operation_mismatch")


async def test_a_refusal_leaves_the_id_free(call):
    key = new_id()
    await call("PUT", "/v1/state/b", b"[1]", if_none_match="*")
    assert (await call("PUT", "/v1/state/b", b"[1]", if_match='"5"', idempotency_key=key)).code == "condition_false"
    assert (await call("GET", f"/v1/operations/{key}")).code == "operation_not_committed"
    assert (await call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=key)).status == 201
    receipt = await call("GET", f"/v1/operations/{key}")
    assert (receipt.status, receipt.json["state"], receipt.json["resource"]) == (200, "committed", "state:a")


async def test_an_abandoned_operation_never_takes_effect(call):
    key = new_id()
    assert (await call("POST", f"/v1/operations/{key}/abandon")).json["state"] == "abandoned"
    assert (
        await call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=key)
    ).code == "operation_abandoned"
    assert (await call("GET", "/v1/state/a")).status == 404


async def test_ids_from_the_future_and_from_long_ago(call):
    early = uuid7(4_000_000_000_000, bytes(10))
    late = uuid7(1_000_000_000_000, bytes(10))
    got = await call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=early)
    assert (got.status, got.code) == (422, "operation_clock")
    assert got.json["server_time"].endswith("Z")
    got = await call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=late)
    assert (got.status, got.code) == (410, "operation_expired")


async def test_fifty_writers_with_one_tag_have_one_winner(call):
    assert (await call("PUT", "/v1/state/a", b"0", if_none_match="*")).status == 201
    got = await asyncio.gather(*(call("PUT", "/v1/state/a", b"%d" % n, if_match='"1"') for n in range(50)))
    statuses = Counter(answer.status for answer in got)
    assert statuses == {200: 1, 412: 49}
    winner = next(n for n, answer in enumerate(got) if answer.status == 200)
    assert (await call("GET", "/v1/state/a")).body == b"%d" % winner


async def test_fifty_identical_operations_have_one_effect_and_equal_answers(call):
    key = new_id()
    got = await asyncio.gather(
        *(call("PUT", "/v1/state/a", b"[1]", if_none_match="*", idempotency_key=key) for _ in range(50))
    )
    answered = [answer for answer in got if answer.status == 201]
    assert {answer.status for answer in got} <= {201, 409}
    assert len({answer.body for answer in answered}) == 1
    assert (await call("GET", "/v1/state/a")).headers["revision"] == "1"


async def test_a_watcher_sees_a_write_of_this_server_and_of_a_library(app, call, dsn, workspace, committed):
    await call("PUT", "/v1/state/a", b"[1]", if_none_match="*")
    watching = asyncio.ensure_future(call("GET", "/v1/state/a?wait_seconds=20", if_none_match='"1"'))
    while not len(app.engine.hub):
        await asyncio.sleep(0)
    await call("PUT", "/v1/state/a", b"[2]", if_match='"1"')
    assert (await watching).body == b"[2]"
    watching = asyncio.ensure_future(call("GET", "/v1/state/a?wait_seconds=20", if_none_match='"2"'))
    while not len(app.engine.hub):
        await asyncio.sleep(0)
    with committed.transaction():
        state.put(committed, workspace, "a", b"[3]", 2)
    assert (await watching).body == b"[3]"


async def test_a_watch_ends_when_its_key_is_revoked(app, call, workspace):
    other = Client(app, await key_of(app, workspace))
    key_id = other.key.split("_")[2]
    watching = asyncio.ensure_future(other("GET", "/v1/state/none?wait_seconds=30"))
    while not len(app.engine.hub):
        await asyncio.sleep(0)
    assert (await call("POST", f"/v1/keys/{key_id}/revoke")).status == 200
    assert (await watching).code == "no_valid_key"


async def test_nothing_of_another_workspace_is_seen(app, call, database):
    await call("PUT", "/v1/state/secret", b"[1]", if_none_match="*")
    stranger = Client(app, await key_of(app, database.new_workspace()))
    here, missing = await stranger("GET", "/v1/state/secret"), await stranger("GET", "/v1/state/nothing")
    assert (here.status, here.body, here.headers) == (404, missing.body, missing.headers)


@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/v1/capabilities", "/metrics", "/docs", "/llms.txt", "/openapi.json"]
)
async def test_what_is_told_without_a_key(app, path):
    got = await Client(app, key=None)("GET", path)
    assert got.status == 200


async def test_the_database_may_go_away_and_come_back(app, call, database):
    await call("PUT", "/v1/state/a", b"[1]", if_none_match="*")
    with database.connect() as conn:
        mine = "application_name = 'steadhold' and datname = current_database()"
        conn.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where {mine}".encode())
    got = [await call("GET", "/v1/state/a") for _ in range(10)]
    assert got[-1].status == 200
    assert {answer.status for answer in got} <= {200, 503}
