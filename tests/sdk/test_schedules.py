"""client.schedules: what is sent, and what is made of the answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx2
import msgspec
import pytest

from steadhold.kit.fields import FenceRef
from steadhold.sdk import AsyncClient, Client, errors
from tests.sdk.conftest import problem
from tests.sdk.site import key, site  # noqa: F401 - fixtures

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SCHEDULE = {
    "id": "s", "revision": 3, "spec": {"every_seconds": 60, "target": {"job": {"type": "t", "input": 1}}},
    "paused": False, "next_at": "2026-03-02T12:00:00.000000Z", "cursor": "2026-03-02T11:59:00.000000Z",
    "zone_tables": "2026a", "made_at": "2026-03-01T00:00:00.000000Z", "changed_at": "2026-03-01T00:00:00.000000Z",
}  # fmt: skip
RUN = {
    "schedule_id": "s", "kind": "schedule", "scheduled_at": "2026-03-02T12:00:00.000000Z",
    "local_time": "2026-03-02T12:00:00+00:00", "trigger_id": "0198", "spec_revision": 3, "outcome": "waiting",
    "window": {"start": "2026-03-02T11:59:00.000000Z", "end": "2026-03-02T12:00:00.000000Z"}, "job_id": "j",
    "recorded_at": "2026-03-02T12:00:00.100000Z",
}  # fmt: skip


def answer(body, status=200):
    return httpx2.Response(status, json=body)


def sent(server):
    return msgspec.json.decode(server.requests[-1].content)


def test_only_what_is_said_is_sent(server, client):
    server.then(answer(SCHEDULE, 201))
    made = client.schedules.put("s", "t", every_seconds=60)
    assert sent(server) == {"every_seconds": 60, "target": {"job": {"type": "t"}}}
    assert server.requests[-1].headers["if-none-match"] == "*"
    assert (made.revision, made.next_at, made.made_again) == (3, NOON, False)


def test_all_of_it_is_sent(server, client):
    server.then(answer(SCHEDULE))
    client.schedules.put(
        "s", "t", raw=b'{"a": 1.10}', inputs=["x"], priority=2, deadline_seconds=9, tags=["y"], cron="0 2 * * *",
        time_zone="Europe/Berlin", gap="skip", fold="both", missed="all", window_seconds=60, max_runs=5,
        overlap="enqueue", sequential=True, jitter_seconds=3, starts_at=NOON, ends_at=NOON + timedelta(days=1),
        paused=True, freshness_seconds=30, if_revision=2, fences=[FenceRef("lock:a", 3)],
    )  # fmt: skip
    assert b'"input":{"a": 1.10}' in server.requests[-1].content
    assert sent(server) == {
        "cron": "0 2 * * *", "time_zone": "Europe/Berlin", "dst": {"gap": "skip", "fold": "both"},
        "missed": {"policy": "all", "window_seconds": 60, "max_runs": 5}, "overlap": "enqueue", "sequential": True,
        "jitter_seconds": 3, "starts_at": "2026-03-02T12:00:00.000000Z", "ends_at": "2026-03-03T12:00:00.000000Z",
        "paused": True, "freshness_seconds": 30,
        "target": {"job": {"type": "t", "input": {"a": 1.1}, "inputs": ["x"], "priority": 2, "deadline_seconds": 9,
                           "tags": ["y"]}},
    }  # fmt: skip
    headers = server.requests[-1].headers
    assert (headers["if-match"], headers["fence"]) == ('"2"', '"lock:a";fence=3')


def test_a_spec_goes_as_it_is(server, client):
    server.then(answer(SCHEDULE), answer(SCHEDULE))
    client.schedules.put_spec("s", SCHEDULE["spec"], if_revision=3)
    assert sent(server) == SCHEDULE["spec"]
    client.schedules.put_spec("s", b'{ "at": "x" }')
    assert server.requests[-1].content == b'{ "at": "x" }'


def test_an_end_without_a_zone_is_refused(client):
    with pytest.raises(ValueError, match="no time zone"):
        client.schedules.put("s", "t", every_seconds=60, ends_at=datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused


def test_runs_are_read_page_by_page(server, client):
    skipped = RUN | {"outcome": "skipped", "reason": "paused", "count": 9, "last_at": RUN["scheduled_at"]}
    covers = [{"first": RUN["scheduled_at"], "last": RUN["scheduled_at"], "count": 1}]
    server.then(
        answer({"items": [RUN | {"covers": covers}], "next_cursor": "c"}),
        answer({"items": [skipped], "next_cursor": None}),
    )
    one, two = client.schedules.runs("s")
    assert (one.window.end, one.covers[0].count, one.count) == (NOON, 1, 1)
    assert (two.reason, two.count, two.last_at) == ("paused", 9, NOON)
    assert server.asked == ["GET /v1/schedules/s/runs", "GET /v1/schedules/s/runs?cursor=c"]


def test_what_is_asked(server, client):
    server.then(
        answer(SCHEDULE), answer({"items": [SCHEDULE], "next_cursor": None}), answer(RUN, 202),
        answer({"runs": [RUN], "existing": []}), answer(SCHEDULE), answer(SCHEDULE),
        answer({"paused": False, "zone_tables": "2026a", "items": [
            {"local_time": "x", "skipped": "gap"}, {"local_time": "y", "scheduled_at": RUN["scheduled_at"]}]}),
        httpx2.Response(204, headers={"revision": "4"}),
    )  # fmt: skip
    room = client.schedules
    assert room.get("s") == next(room.list())
    assert room.trigger("s", operation_id="k").job_id == "j"
    assert server.keys[-1] == "k"
    assert [run.job_id for run in room.backfill("s", NOON, NOON + timedelta(hours=1)).runs] == ["j"]
    assert sent(server) == {"from": "2026-03-02T12:00:00.000000Z", "to": "2026-03-02T13:00:00.000000Z"}
    assert room.pause("s", if_revision=3).revision == room.resume("s").revision == 3
    preview = room.preview("s", start=NOON, count=2)
    assert [(item.skipped, item.scheduled_at) for item in preview.items] == [("gap", None), (None, NOON)]
    assert room.delete("s", if_revision=3) == 4
    assert server.asked == [
        "GET /v1/schedules/s", "GET /v1/schedules", "POST /v1/schedules/s/trigger", "POST /v1/schedules/s/backfill",
        "POST /v1/schedules/s/pause", "POST /v1/schedules/s/resume",
        "GET /v1/schedules/s/preview?from=2026-03-02T12%3A00%3A00.000000Z&count=2", "DELETE /v1/schedules/s",
    ]  # fmt: skip


def test_a_refusal_says_where(server, client):
    server.then(problem(400, "bad_cron", field="hour", position=3))
    with pytest.raises(errors.Problem) as caught:
        client.schedules.put("s", "t", cron="0 x * * *", time_zone="UTC")
    assert (caught.value.code, caught.value.extras["position"]) == ("bad_cron", 3)


@pytest.mark.journeys
def test_with_a_server(site, key):  # noqa: F811 - fixtures
    """Made, run by hand, previewed, paused and deleted, as one would."""
    with Client(site.url, key.key) as client:
        made = client.schedules.put("s", "t", {"n": 1}, cron="0 2 * * *", time_zone="Europe/Berlin")
        assert client.schedules.put_spec("s", made.spec, if_revision=made.revision).revision == made.revision
        assert [item.local_time[11:16] for item in client.schedules.preview("s", count=2).items] == ["02:00"] * 2
        raw = b'{"n": 1.10, "far":1e400}'
        exact = client.schedules.put("exact", "t", raw=raw, at=datetime(2999, 1, 1, tzinfo=UTC))
        assert bytes(client.schedules.get("exact").spec["target"]["job"]["input"]) == raw
        assert client.schedules.put_spec("exact", exact.spec, if_revision=exact.revision).revision == exact.revision
        assert client.schedules.delete("exact", if_revision=exact.revision) == exact.revision + 1
        client.inboxes["reports"].create()
        sends = client.schedules.put_event("e", "reports", "report.due", {"n": 1}, every_seconds=3_600)
        assert sends.spec["target"]["inbox"]["type"] == "report.due"
        event = client.schedules.trigger("e")
        assert (event.outcome, event.inbox, event.job_id) == ("started", "reports", None)
        run = client.schedules.trigger("s")
        assert [job.job_id for job in client.jobs.list()] == [run.job_id]
        assert [found.trigger_id for found in client.schedules.runs("s")] == [run.trigger_id]
        assert client.schedules.pause("s").paused is True
        assert client.schedules.delete("s", if_revision=2) == 3
        with pytest.raises(errors.NotFound):
            client.schedules.get("s")


@pytest.mark.journeys
async def test_with_a_server_awaited(site, key):  # noqa: F811 - fixtures
    async with AsyncClient(site.url, key.key) as client:
        await client.schedules.put("a", "t", every_seconds=3_600)
        assert [found.id async for found in client.schedules.list()] == ["a"]
        assert (await client.schedules.trigger("a")).outcome == "waiting"


def test_a_name_that_can_be_none_is_not_asked_about(server, client):
    with pytest.raises(ValueError, match=r"'a/b' is no Id\. An id holds letters, digits and"):
        client.schedules.put("a/b", "t", every_seconds=60)
    with pytest.raises(ValueError, match="'a b' is no Id"):
        client.locks.acquire("a b")
    with pytest.raises(ValueError, match="at least one character"), client.locks.hold(""):
        pass
    assert not server.requests
