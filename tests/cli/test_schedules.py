"""`steadhold schedules`: what is sent, and what is told of times to come and times that were."""

from __future__ import annotations

import msgspec
import pytest

from tests.cli.conftest import problem, reply

AT, UTC = "2027-03-14T07:00:00Z", "2027-03-14T07:00:00.000000Z"
SPEC = {"cron": "30 2 * * *", "time_zone": "America/New_York", "target": {"job": {"type": "report"}}}


def schedule_of(spec, revision=7, **more):
    return {
        "id": "nightly", "revision": revision, "spec": spec, "paused": False, "next_at": UTC, "cursor": UTC,
        "zone_tables": "2026f", "made_at": UTC, "changed_at": UTC, **more,
    }  # fmt: skip


def schedule(revision=7, *, status=200, spec=None, **more):
    told = schedule_of(spec or SPEC, revision, **more)
    return reply(status, msgspec.json.encode(told), revision=revision, etag=f'"{revision}"')


def run(outcome="started", **more):
    told = {
        "schedule_id": "nightly", "kind": "schedule", "scheduled_at": UTC, "local_time": "2027-03-14T03:00:00",
        "window": {"start": UTC, "end": UTC}, "trigger_id": "t", "spec_revision": 7, "outcome": outcome,
        "recorded_at": UTC, **more,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def page(*items):
    return reply(200, msgspec.json.encode({"items": items, "next_cursor": None}))


def body(server):
    return msgspec.json.decode(server.last.content)


def test_a_schedule_is_made_of_options(steadhold, server):
    server.then(schedule(status=201))
    said = "--time-zone Europe/Riga --fold both --missed all --max-runs 5 --overlap enqueue --sequential --priority 2"
    more = ["--cron", "30 2 * * *", "--tag", "a", "--starts-at", "2027-01-01T00:00:00+01:00", "--idempotency-key", "op"]
    steadhold("schedules", "put", "nightly", "report", '{"n": 1.10}', *said.split(), *more, "--create")
    assert b'"input":{"n": 1.10}' in server.last.content
    assert body(server) == {
        "cron": "30 2 * * *", "time_zone": "Europe/Riga", "dst": {"fold": "both"}, "overlap": "enqueue",
        "missed": {"policy": "all", "max_runs": 5}, "sequential": True, "starts_at": "2026-12-31T23:00:00.000000Z",
        "target": {"job": {"type": "report", "input": {"n": 1.1}, "priority": 2, "tags": ["a"]}},
    }  # fmt: skip
    assert server.asked == ["PUT /v1/schedules/nightly"]
    assert server.last.headers["if-none-match"] == "*"
    assert server.last.headers["idempotency-key"] == "op"


@pytest.mark.parametrize(
    "options, members",
    [
        (["--every-seconds", "60"], {"every_seconds": 60}),
        (["--at", AT], {"at": UTC}),
        (["--every-seconds", "60", "--paused"], {"every_seconds": 60, "paused": True}),
    ],
)
def test_a_revision_is_replaced(steadhold, server, options, members):
    server.then(schedule(8))
    steadhold("schedules", "put", "nightly", "report", *options, "--if-match", 7)
    assert body(server) == {**members, "target": {"job": {"type": "report"}}}
    assert server.last.headers["if-match"] == '"7"'


def test_what_is_shown_can_be_put(steadhold, server, tmp_path):
    server.then(schedule(), schedule(8))
    shown = msgspec.json.decode(steadhold("schedules", "show", "nightly").stdout)
    file = tmp_path / "spec.json"
    file.write_bytes(msgspec.json.encode(shown["spec"]))
    steadhold("schedules", "put", "nightly", "--spec", file, "--if-match", shown["revision"])
    assert server.last.content == file.read_bytes()
    assert body(server) == SPEC


@pytest.mark.parametrize(
    "words, said",
    [
        (["report", "--every-seconds", "1"], "Say what is replaced"),
        (["report", "--every-seconds", "1", "--create", "--if-match", "1"], "Say what is replaced"),
        (["--every-seconds", "1", "--create"], "Give TYPE and options"),
        (["report", "--create", "--spec", __file__], "Give TYPE and options"),
        (["--create", "--spec", __file__, "--every-seconds", "1"], "--spec says all of it"),
        (["--create", "--spec", __file__, "--tag", "a"], "--spec says all of it"),
        (["--create", "--spec", __file__, "--sequential"], "--spec says all of it"),
        (["--create", "--spec", __file__, "--file", __file__], "--spec says all of it"),
        (["report", "--create", "--at", "2027-03-14T07:00:00"], "has no zone"),
        (["report", "--create", "--every-seconds", "0"], "0 is not in the range"),
        (["report", "--create", "--gap", "both"], "is not one of"),
    ],
)
def test_what_is_not_meant_so_is_not_sent(steadhold, server, words, said):
    assert said in steadhold("schedules", "put", "nightly", *words, code=2).stderr
    assert server.requests == []


def test_a_fault_of_cron_tells_where_it_is(steadhold, server):
    server.then(problem(400, "bad_cron", field="hour", position=3, pointer="/cron"))
    said = steadhold(
        "schedules", "put", "x", "report", "--cron", "30 24 * * *", "--time-zone", "UTC", "--create", code=2
    )
    assert "[bad_cron, field=hour, position=3" in said.stderr


def test_schedules_are_listed_with_when(steadhold, server):
    every = {"every_seconds": 60, "target": {"job": {"type": "poll"}}}
    once = {"at": UTC, "target": {"job": {"type": "poll"}}}
    found = [msgspec.json.decode(answer.content) for answer in (schedule(), schedule(spec=every), schedule(spec=once))]
    server.then(page(*found))
    rows = steadhold("schedules", "ls", "-o", "table").stdout.splitlines()
    assert rows[0].split() == ["ID", "WHEN", "NEXT_AT", "PAUSED", "STARTS"]
    assert "30 2 * * * America/New_York" in rows[1]
    assert [row.split()[-1] for row in rows[1:]] == ["report", "poll", "poll"]
    assert "every 60 s" in rows[2]
    assert f"at {UTC}" in rows[3]
    assert msgspec.json.decode(steadhold("schedules", "ls", "--limit", 1).stdout)["spec"] == SPEC


ITEMS = [
    {"local_time": "2027-03-14T03:00:00", "scheduled_at": UTC, "offset_seconds": -14400, "moved": "gap",
     "asked": "2027-03-14T02:30:00"},
    {"local_time": "2027-11-07T01:30:00", "scheduled_at": UTC, "offset_seconds": -18000, "moved": "fold"},
    {"local_time": "2027-11-07T01:15:00", "skipped": "second_pass", "last_local_time": "2027-11-07T01:45:00"},
    {"local_time": "2028-03-12T02:30:00", "skipped": "gap"},
    {"local_time": "2028-03-13T02:30:00", "scheduled_at": UTC, "offset_seconds": -14400},
]  # fmt: skip


def test_what_comes_says_why_it_moves_or_is_left_out(steadhold, server):
    server.then(reply(200, msgspec.json.encode({"paused": True, "zone_tables": "2026f", "items": ITEMS})))
    told = steadhold("schedules", "next", "nightly", "--from", AT, "--count", 5, "-o", "table")
    rows = [line.split("  ")[0] + " | " + line.split("  ")[-1].strip() for line in told.stdout.splitlines()[1:]]
    assert rows == [
        "2027-03-14T03:00:00 | for 2027-03-14T02:30:00, which clocks jump over",
        "2027-11-07T01:30:00 | the second time it comes",
        "2027-11-07T01:15:00 … 2027-11-07T01:45:00 | left out: it came before, and ran then",
        "2028-03-12T02:30:00 | left out: clocks jump over it",
        "2028-03-13T02:30:00 | -",
    ]
    assert "It is paused" in told.stderr
    assert server.asked == ["GET /v1/schedules/nightly/preview?from=2027-03-14T07%3A00%3A00.000000Z&count=5"]


def test_what_comes_is_lines_of_json(steadhold, server):
    server.then(reply(200, msgspec.json.encode({"paused": False, "zone_tables": "2026f", "items": ITEMS})))
    told = steadhold("schedules", "next", "nightly")
    assert [msgspec.json.decode(line)["skipped"] for line in told.stdout.splitlines()] == [
        None, None, "second_pass", "gap", None
    ]  # fmt: skip
    assert told.stderr == ""
    assert server.asked == ["GET /v1/schedules/nightly/preview"]


def test_what_became_of_its_times_is_listed(steadhold, server):
    skipped = run("skipped", reason="missed", last_at=UTC, count=12)
    newer = run(job_id="j", covers=[{"first": UTC, "last": UTC, "count": 2}])
    server.then(page(newer, skipped, run("coalesced"), run("failed", code="queue_full")))
    rows = steadhold("schedules", "runs", "nightly", "-o", "table").stdout.splitlines()
    assert [" ".join(row.split()[2:]) for row in rows[1:]] == [
        "schedule started j stands for 2 more",
        "schedule skipped - missed, 12 of them, the last 2027-03-14T07:00:00Z",
        "schedule coalesced - another stands for it",
        "schedule failed - queue_full",
    ]
    assert len(steadhold("schedules", "runs", "nightly", "--limit", 1).stdout.splitlines()) == 1


def test_it_runs_when_it_is_told(steadhold, server):
    server.then(reply(202, msgspec.json.encode(run(kind="manual", operation_id="op"))))
    told = msgspec.json.decode(steadhold("schedules", "trigger", "nightly", "--idempotency-key", "op").stdout)
    assert (told["kind"], told["operation_id"]) == ("manual", "op")
    assert server.asked == ["POST /v1/schedules/nightly/trigger"]


def test_the_past_is_run_again(steadhold, server):
    done = {"runs": [run(kind="backfill")], "existing": [run("skipped")]}
    server.then(reply(202, msgspec.json.encode(done)))
    lines = steadhold(
        "schedules", "backfill", "nightly", "2027-03-01T00:00:00Z", AT, "--if-match", 7
    ).stdout.splitlines()
    assert [msgspec.json.decode(line)["kind"] for line in lines] == ["backfill", "schedule"]
    assert body(server) == {"from": "2027-03-01T00:00:00.000000Z", "to": UTC}
    assert server.last.headers["if-match"] == '"7"'


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_it_is_paused_and_resumed(steadhold, server, verb):
    server.then(schedule(8, paused=verb == "pause"))
    told = steadhold("schedules", verb, "nightly", "-o", "table").stdout
    assert ("paused       yes" in told) == (verb == "pause")
    assert server.asked == [f"POST /v1/schedules/nightly/{verb}"]


def test_it_is_deleted_at_a_revision(steadhold, server):
    server.then(reply(204, b"", revision=8))
    told = steadhold("schedules", "delete", "nightly", "--if-match", 7).stdout
    assert msgspec.json.decode(told) == {"id": "nightly", "revision": 8}
    assert server.last.headers["if-match"] == '"7"'
    assert "Missing option '--if-match'" in steadhold("schedules", "delete", "nightly", code=2).stderr


def test_a_name_that_can_be_none_is_not_asked_about(steadhold, server):
    said = steadhold("schedules", "put", "a/b", "report", "--every-seconds", 60, "--create", code=2).stderr
    assert "'a/b' is no Id. An id holds letters, digits and . _ ~ : @ - only; '/' is none of them." in said
    steadhold("locks", "acquire", "a b", code=2)
    steadhold("lock", "run", "a b", "--", "true", code=2)
    assert not server.requests


def test_an_event_is_sent_to_an_inbox(steadhold, server):
    spec = {"every_seconds": 60, "target": {"inbox": {"inbox": "reports", "type": "report.due"}}}
    server.then(schedule(status=201, spec=spec), page(schedule_of(spec)), page(run(event_id="schedule:nightly@2")))
    put = ("schedules", "put", "nightly", "report.due", '{"n": 1.10}', "--inbox", "reports", "--create")
    steadhold(*put, "--every-seconds", "60", "--overlap", "enqueue")
    assert b'"data":{"n": 1.10}' in server.last.content
    target = {"inbox": "reports", "type": "report.due", "data": {"n": 1.1}}
    assert body(server) == {"every_seconds": 60, "target": {"inbox": target}}
    assert "report.due to reports" in steadhold("schedules", "ls", "-o", "table").stdout
    assert "schedule:nightly@2" in steadhold("schedules", "runs", "nightly", "-o", "table").stdout
    refused = steadhold(*put, "--every-seconds", "60", "--priority", "2", code=2)
    assert "leave out --priority" in refused.stderr
