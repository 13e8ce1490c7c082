"""schedules through the doors: what is answered, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from steadhold import schedules
from steadhold.kit.page import write_cursor
from steadhold.schedules import instants
from tests.schedules.house import SCOPES

JOB = {"target": {"job": {"type": "t"}}}
CRON = {"cron": "30 2 * * *", "time_zone": "Europe/Berlin", **JOB}


async def test_what_is_put_is_what_is_read(house):
    """An answer's `spec` is what a PUT sends: sent again it changes nothing, and input keeps its bytes."""
    body = b'{"cron":"0 0 1 1 *","time_zone":"UTC","target":{"job":{"type":"t","input":{"a": 1.10}}}}'
    made = await house("PUT", "/v1/schedules/s", body, if_none_match="*")
    assert (made.status, made.headers["etag"], made.json["revision"]) == (201, '"1"', 1)
    assert b'"input":{"a": 1.10}' in made.body
    spec = made.json["spec"]
    assert spec["missed"] == {"policy": "latest", "window_seconds": 3_600, "max_runs": 100}
    assert (spec["dst"], spec["overlap"], spec["paused"]) == ({"gap": "run_after", "fold": "first"}, "coalesce", False)
    read = await house("GET", "/v1/schedules/s")
    assert read.json == made.json
    assert (await house("GET", "/v1/schedules/s", if_none_match='"1"')).status == 304
    again = await house("PUT", "/v1/schedules/s", spec | {"target": {"job": {"type": "t"}}}, if_match='"1"')
    assert (again.status, again.json["revision"]) == (200, 2)
    same = await house("PUT", "/v1/schedules/s", again.json["spec"], if_match='"2"')
    assert (same.status, same.json) == (200, again.json)
    assert (await house("GET", "/v1/schedules")).json["items"] == [again.json]


async def test_the_same_in_other_words_changes_nothing(house):
    """Blanks around an expression, members that are the defaults, and another offset of one moment say nothing new."""
    words = CRON | {"cron": "\t30 2 * * * ", "starts_at": "2999-01-01T01:00:00+01:00"}
    made = await house("PUT", "/v1/schedules/s", words, if_none_match="*")
    assert made.json["spec"]["cron"] == "30 2 * * *"
    more = {"overlap": "coalesce", "missed": {}, "jitter_seconds": 0, "dst": {"fold": "first"}, "paused": False}
    again = CRON | more | {"starts_at": "2999-01-01T00:00:00.000Z", "ends_at": None}
    same = await house("PUT", "/v1/schedules/s", again, if_match='"1"')
    assert (same.status, same.json) == (200, made.json)


async def test_a_cursor_that_somebody_made_up(house):
    await house.made()
    for moment in ("x", "0001-01-01T00:00:00+05:00", "2026-99-01T00:00:00Z"):
        cursor = write_cursor("schedule-runs", moment, 0)
        assert (await house("GET", f"/v1/schedules/s/runs?cursor={cursor}")).code == "bad_cursor"


async def test_conditions(house):
    assert (await house("PUT", "/v1/schedules/s", CRON)).code == "condition_required"
    missing = await house("PUT", "/v1/schedules/s", CRON, if_match='"1"')
    assert (missing.status, missing.code) == (412, "condition_false")
    await house.made()
    assert (await house("PUT", "/v1/schedules/s", CRON, if_none_match="*")).json["current_revision"] == 1
    assert (await house("DELETE", "/v1/schedules/s")).code == "condition_required"
    assert (await house("POST", "/v1/schedules/s/pause", if_match='"7"')).status == 412
    assert (await house("POST", "/v1/schedules/s/pause", if_match='"1"')).json["paused"] is True
    gone = await house("DELETE", "/v1/schedules/s", if_match='"2"')
    assert (gone.status, gone.headers["revision"]) == (204, "3")
    absent = await house("GET", "/v1/schedules/s")
    assert (absent.status, absent.json["last_revision"]) == (404, 3)
    again = (await house.made()).json
    assert (again["made_again"], again["revision"]) == (True, 4)


BAD = {
    "two cadences": (CRON | {"every_seconds": 9}, 422, "bad_schedule", {"pointer": ""}),
    "no cadence": (JOB, 422, "bad_schedule", {"pointer": ""}),
    "no such field": (CRON | {"cron": "0 0 * * MOON"}, 400, "bad_cron", {"field": "day-of-week", "position": 8}),
    "seconds": (CRON | {"cron": "0 0 0 * * *"}, 400, "bad_cron", {}),
    "no zone": ({"cron": "0 0 * * *", **JOB}, 422, "bad_time_zone", {}),
    "an offset": (CRON | {"time_zone": "+01:00"}, 422, "bad_time_zone", {}),
    "a zone for nothing": ({"every_seconds": 9, "time_zone": "UTC", **JOB}, 422, "bad_schedule", {}),
    "dst for nothing": ({"every_seconds": 9, "dst": {}, **JOB}, 422, "bad_schedule", {"pointer": "/dst"}),
    "in order of nothing": (CRON | {"sequential": True}, 422, "bad_schedule", {"pointer": "/sequential"}),
    "an end before its beginning": (
        CRON | {"starts_at": "2999-01-02T00:00:00Z", "ends_at": "2999-01-01T00:00:00Z"}, 422, "bad_schedule", {},
    ),
    "half a second": ({"at": "2999-01-01T00:00:00.5Z", **JOB}, 422, "bad_schedule", {"pointer": "/at"}),
    "the past": ({"at": "2001-01-01T00:00:00Z", **JOB}, 422, "never_due", {}),
    "an inbox": (
        {"every_seconds": 9, "target": {"inbox": {"inbox": "x", "type": "t"}}}, 422, "target_unknown", {"inbox": "x"},
    ),
    "no target": ({"every_seconds": 9, "target": {}}, 422, "bad_schedule", {"pointer": "/target"}),
    "a value and a reference": (
        {"every_seconds": 9, "target": {"job": {"type": "t", "input": 1, "input_ref": "x"}}}, 422, "two_sources", {},
    ),
    "an unknown member": (CRON | {"every": 9}, 400, "bad_member", {"pointer": "/every"}),
    "a reference that no row can hold": (
        {"every_seconds": 9, "target": {"job": {"type": "t", "input_ref": "a\0"}}}, 400, "bad_member",
        {"pointer": "/target/job/input_ref"},
    ),
    "before all time": ({"at": "0001-01-01T00:00:00+05:00", **JOB}, 400, "bad_member", {"pointer": "/at"}),
    "behind all time": ({"at": "9999-12-31T23:59:59-05:00", **JOB}, 400, "bad_member", {"pointer": "/at"}),
    "a position behind letters of four bytes": (
        CRON | {"cron": " 0 0 \U0001f600 * *"}, 400, "bad_cron", {"field": "day-of-month", "position": 5},
    ),
    "too often": ({"every_seconds": 0, **JOB}, 400, "bad_member", {}),
    "a thousand runs": (CRON | {"missed": {"max_runs": 1_000}}, 400, "bad_member", {}),
}  # fmt: skip


@pytest.mark.parametrize("body, status, code, extras", BAD.values(), ids=BAD)
async def test_what_contradicts_itself_is_refused(house, body, status, code, extras):
    refused = await house("PUT", "/v1/schedules/s", body, if_none_match="*")
    assert (refused.status, refused.code) == (status, code)
    assert refused.json.items() >= extras.items()
    assert (await house("GET", "/v1/schedules/s")).status == 404


async def test_runs_are_told(house, clock):
    made = (await house.made(overlap="skip")).json
    due = datetime.fromisoformat(made["next_at"])
    clock.move((due - clock.now()).total_seconds() + 0.01)
    assert await house.player.play(schedules.tick.call(house.workspace, 10)) == 1
    clock.move(3_600)
    assert await house.player.play(schedules.tick.call(house.workspace, 10)) == 1
    skipped, run = (await house("GET", "/v1/schedules/s/runs")).json["items"]
    assert run["outcome"] == "waiting"
    assert run["window"] == {"start": told(due - timedelta(hours=1)), "end": told(due)}
    assert run.keys().isdisjoint({"reason", "code", "operation_id", "count", "covers", "last_at"})
    assert (await house("GET", f"/v1/jobs/{run['job_id']}")).json["correlation_id"] == run["trigger_id"]
    assert (skipped["outcome"], skipped["reason"], "job_id" in skipped) == ("skipped", "overlap", False)
    page = await house("GET", "/v1/schedules/s/runs?limit=1")
    rest = await house("GET", f"/v1/schedules/s/runs?limit=1&cursor={page.json['next_cursor']}")
    assert [page.json["items"], rest.json["items"]] == [[skipped], [run]]
    assert (await house("GET", "/v1/schedules/other/runs")).status == 404


def told(moment):
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


async def test_a_trigger_is_known_by_its_key(house):
    await house.made()
    first = await house("POST", "/v1/schedules/s/trigger", idempotency_key="k1")
    assert (first.status, first.json["kind"], first.json["operation_id"]) == (202, "manual", "k1")
    again = await house("POST", "/v1/schedules/s/trigger", idempotency_key="k1")
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert len((await house("GET", "/v1/schedules/s/runs")).json["items"]) == 1
    assert (await house("POST", "/v1/schedules/other/trigger")).status == 404
    assert (await house.client("POST", "/v1/schedules/s/trigger")).code == "key_required"


async def test_a_trigger_that_does_not_run_is_no_202(house):
    await house.made(overlap="skip")
    await house("POST", "/v1/schedules/s/trigger")
    skipped = await house("POST", "/v1/schedules/s/trigger")
    assert (skipped.status, skipped.json["outcome"], skipped.json["reason"]) == (200, "skipped", "overlap")


async def test_a_backfill_tells_what_was_there(house, clock):
    await house.made(overlap="enqueue")
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    span = {"from": told(now - timedelta(hours=2)), "to": told(now)}
    made = await house("POST", "/v1/schedules/s/backfill", span)
    assert [run["scheduled_at"] for run in made.json["runs"]] == [
        told(now - timedelta(hours=2)),
        told(now - timedelta(hours=1)),
    ]
    again = (await house("POST", "/v1/schedules/s/backfill", span)).json
    assert (again["runs"], again["existing"]) == ([], made.json["runs"])
    wide = {"from": told(now - timedelta(days=365)), "to": told(now)}
    refused = await house("POST", "/v1/schedules/s/backfill", wide)
    assert (refused.code, refused.json["count"], refused.json["limit"]) == ("backfill_too_large", 8_760, 500)
    nothing = {"from": told(now), "to": told(now)}
    assert (await house("POST", "/v1/schedules/s/backfill", nothing)).code == "bad_schedule"


async def test_a_preview_says_what_a_clock_change_does(house):
    await house("PUT", "/v1/schedules/s", CRON, if_none_match="*")
    found = (await house("GET", "/v1/schedules/s/preview?from=2026-03-28T12:00:00Z&count=2")).json
    assert found["items"][0] == {
        "local_time": "2026-03-29T03:00:00+02:00",
        "scheduled_at": "2026-03-29T01:00:00.000000Z",
        "offset_seconds": 7_200,
        "moved": "gap",
        "asked": "2026-03-29T02:30:00",
    }
    assert (found["items"][1]["offset_seconds"], found["zone_tables"]) == (7_200, instants.tables_version())
    await house("PUT", "/v1/schedules/g", CRON | {"dst": {"gap": "skip"}}, if_none_match="*")
    skipped, after = (await house("GET", "/v1/schedules/g/preview?from=2026-03-28T12:00:00Z&count=1")).json["items"]
    assert skipped == {"local_time": "2026-03-29T02:30:00", "skipped": "gap"}
    assert after["local_time"] == "2026-03-30T02:30:00+02:00"
    assert len((await house("GET", "/v1/schedules/s/preview")).json["items"]) == 10
    beyond = ("from=0001-01-01T00:00:00Z", "from=9999-12-31T23:59:59-05:00")
    for wrong in (*beyond, "from=tomorrow", "count=0", "count=101", "until=x"):
        assert (await house("GET", f"/v1/schedules/s/preview?{wrong}")).status == 400
    assert (await house("GET", "/v1/schedules/other/preview")).status == 404


async def test_a_scope_may_end_in_an_id(house):
    await house.made("mine")
    await house.made("other")
    await house.enter(("schedules:read:mine", "schedules:write:mine"))
    assert [found["id"] for found in (await house("GET", "/v1/schedules")).json["items"]] == ["mine"]
    assert (await house("GET", "/v1/schedules/mine")).status == 200
    for method, target in (("GET", ""), ("GET", "/runs"), ("POST", "/trigger"), ("POST", "/pause")):
        assert (await house(method, f"/v1/schedules/other{target}")).code == "missing_scope"
    await house.enter(("schedules:read",))
    assert (await house("POST", "/v1/schedules/mine/trigger")).code == "missing_scope"
    await house.enter(SCOPES)


async def test_a_fence_is_obeyed(house):
    stale = {"fence": '"lock:a";fence=1'}
    await house.made()
    assert (await house("PUT", "/v1/schedules/s", CRON, if_match='"1"', **stale)).code == "stale_fence"
    assert (await house("DELETE", "/v1/schedules/s", if_match='"1"', **stale)).code == "stale_fence"
    assert (await house("POST", "/v1/schedules/s/trigger", **stale)).code == "stale_fence"


async def test_evidence_is_as_fresh_as_the_instant_asks(house, clock):
    """Punctuality says nothing about evidence: what is too old for the instant does not complete the job."""
    made = (await house.made(freshness_seconds=600)).json
    due = datetime.fromisoformat(made["next_at"])
    clock.move((due - clock.now()).total_seconds() + 0.01)
    await house.player.play(schedules.tick.call(house.workspace, 10))
    (job,) = (await house("POST", "/v1/jobs:claim", {"worker": "w", "types": ["t"], "limit": 1})).json["jobs"]
    assert job["evidence_not_before"] == told(due - timedelta(minutes=10))
    old = await house.settled(job, state="completed", evidence_at=told(due - timedelta(minutes=11)))
    assert (old.status, old.code) == (422, "stale_evidence")
    fresh = await house.settled(job, state="completed", evidence_at=told(due - timedelta(minutes=10)))
    assert fresh.status == 200


async def test_what_a_schedule_starts_refers_to_nothing_that_the_key_may_not_read(house):
    """Its jobs keep what they refer to, as those do that the key submits itself."""
    named = f"context:a/n@1#sha256:{'0' * 64}"
    for said in ({"input_ref": named}, {"inputs": ["s3://other", named]}):
        body = {"every_seconds": 3_600, "target": {"job": {"type": "t", **said}}}
        await house.enter((*SCOPES, "context:read:b"))
        got = await house("PUT", "/v1/schedules/s", body, if_none_match="*")
        assert (got.status, got.code, got.json["scope"]) == (403, "missing_scope", "context:read")
    await house.enter((*SCOPES, "context:read:a"))
    got = await house("PUT", "/v1/schedules/s", body, if_none_match="*")
    assert (got.status, got.code, got.json["reference"]) == (422, "unknown_reference", named)
