"""schedules whose runs are events: each instant is sent to its inbox once, in order, whatever happens on the way."""

from __future__ import annotations

import json

import pytest

from steadhold import inboxes
from steadhold.kit.limits import SCHEDULE_EVENT_BYTES_MAX
from steadhold.play.caller import play
from steadhold.schedules import Event, Spec, TargetMissing
from steadhold.schedules.spec import Unfit
from tests.schedules.conftest import spec
from tests.schedules.sending import DATA, HOUR, relay, sends


@pytest.fixture
def sent(desk):
    """A desk with an inbox `a`, and an hourly schedule `s` that sends to it."""
    inboxes.put(desk.conn, desk.workspace, "a", inboxes.Retention(), None)
    desk.put("s", sends(), None)
    return desk


def arrived(desk, inbox="a"):
    relay(lambda call: play(desk.conn, call), desk.workspace, inbox)
    return inboxes.read(desk.conn, desk.workspace, inbox).events


def test_an_instant_is_an_event(sent):
    due = sent.pass_()
    (came,) = arrived(sent)
    run = sent.newest()
    assert (run.outcome, run.job_id, run.inbox, run.event_id) == ("started", None, "a", came.event_id)
    said = came.envelope
    assert (said.type, said.aggregate_id, said.correlation_id) == ("report.due", "schedule:s", run.trigger_id)
    assert came.body.endswith(b'"data":' + DATA + b"}"), "the bytes are kept"
    told = json.loads(came.body)
    assert told["schedule_id"] == "s"
    assert told["trigger_id"] == run.trigger_id
    stamp = due.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert told["scheduled_at"] == told["window"]["end"] == stamp


def test_its_history_tells_of_it_first(sent):
    sent.pass_()
    assert sent.events() == ["started", "report.due"]
    (came,) = arrived(sent)
    assert came.envelope.causation_id == "schedule:s@2"


def test_what_was_missed_comes_in_order_and_once(sent):
    first = sent.read().next_at
    sent.to(first + 9 * HOUR)
    assert sent.tick(10) == 1
    came = arrived(sent)
    told = [json.loads(event.body)["scheduled_at"] for event in came]
    assert len(told) == 10
    assert told == sorted(set(told))
    assert (sent.tick(10), arrived(sent)) == (0, came)


def test_a_manual_run_and_a_backfill(sent):
    run = sent.trigger("s", "by-hand").run
    assert sent.trigger("s", "by-hand").run == run
    (came,) = arrived(sent)
    assert (run.outcome, came.event_id) == ("started", run.event_id)
    before = sent.read().next_at - 3 * HOUR
    made = sent.backfill("s", before, before + 2 * HOUR, "again").runs
    assert [run.outcome for run in made] == ["started", "started"]
    assert len(arrived(sent)) == 3
    assert sent.backfill("s", before, before + 2 * HOUR, "again-2").runs == ()


def test_an_inbox_that_is_gone(sent):
    revision = inboxes.get(sent.conn, sent.workspace, "a").revision
    inboxes.delete(sent.conn, sent.workspace, "a", revision)
    sent.pass_()
    assert sent.told() == [("failed:inbox_missing", 1)]
    assert sent.put("t", sends("b"), None) == TargetMissing("b")


def test_a_schedule_may_turn_to_an_inbox_and_back(sent):
    was = sent.pass_()
    back = sent.put("s", spec(), sent.read().revision).schedule
    assert back.next_at > was
    sent.pass_()
    again = sent.put("s", sends(), sent.read().revision).schedule
    assert again.spec == sends()
    sent.pass_()
    assert [outcome for outcome, _ in sent.told()] == ["started", "waiting", "started"]
    assert len(arrived(sent)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"overlap": "coalesce"},
        {"overlap": "skip"},
        {"sequential": True},
        {"jitter_seconds": 5},
        {"freshness_seconds": 1},
    ],
)
def test_what_does_not_fit_an_event(wrong):
    with pytest.raises(Unfit) as refused:
        sends(**wrong)
    assert refused.value.member == next(iter(wrong))


def test_one_target_and_no_type_of_ours():
    with pytest.raises(Unfit, match="exactly one"):
        Spec(every_seconds=60)
    with pytest.raises(Unfit, match="begin with schedule"):
        Spec(every_seconds=60, overlap="enqueue", event=Event("a", "schedule.failed"))


def test_an_open_transaction_stops_no_inbox(sent):
    """A run of a caller's own transaction locks no counter and moves none: the relay appends what it sends."""
    sent.trigger("s", "by-hand")
    rows = "select last_sequence, xmax::text from steadhold.inboxes where name = 'a'"
    assert sent.conn.execute(rows).fetchone() == (0, "0")


TARGET = {"inbox": {"inbox": "a", "type": "report.due", "data": {"n": 1}}}


async def test_over_http(house):
    none = await house.made(target=TARGET)
    assert (none.status, none.json["code"], none.json["inbox"]) == (422, "target_unknown", "a")
    await house.player.play(inboxes.put.call(house.workspace, "a", inboxes.Retention(), None))
    made = await house.made(target=TARGET)
    assert (made.status, made.json["spec"]["overlap"]) == (201, "enqueue")
    assert made.json["spec"]["target"] == {"inbox": {**TARGET["inbox"], "schema_version": 1}}
    same = await house("PUT", "/v1/schedules/s", made.json["spec"], if_match='"1"')
    assert (same.status, same.json["revision"]) == (200, 1)
    run = await house("POST", "/v1/schedules/s/trigger")
    assert (run.status, run.json["outcome"], run.json["inbox"]) == (202, "started", "a")
    assert run.json["event_id"].startswith("schedule:s@")
    for wrong in ({"overlap": "coalesce"}, {"sequential": True}, {"jitter_seconds": 5}, {"freshness_seconds": 5}):
        refused = await house.made("t", target=TARGET, **wrong)
        assert (refused.status, refused.json["code"], refused.json["pointer"]) == (
            422,
            "bad_schedule",
            f"/{next(iter(wrong))}",
        )
    both = await house.made("t", target={**TARGET, "job": {"type": "t"}})
    assert (both.status, both.json["pointer"]) == (422, "/target")


@pytest.mark.parametrize(
    ("scopes", "target", "status"),
    [
        (("schedules:write",), {"job": {"type": "t"}}, 403),
        (("schedules:write", "jobs:submit"), {"job": {"type": "t"}}, 201),
        (("schedules:write", "jobs:submit", "inboxes:append:b"), TARGET, 403),
        (("schedules:write", "inboxes:append:a"), TARGET, 201),
    ],
)
async def test_a_schedule_starts_only_what_its_key_may_start(house, scopes, target, status):
    await house.player.play(inboxes.put.call(house.workspace, "a", inboxes.Retention(), None))
    await house.enter(scopes)
    made = await house.made(target=target)
    assert made.status == status
    if status == 403:
        assert made.json["code"] == "missing_scope"


async def test_a_schedule_is_not_turned_to_what_its_key_may_not_start(house):
    await house.made()
    await house.enter(("schedules:*",))
    refused = await house(
        "PUT", "/v1/schedules/s", {"every_seconds": 60, "target": {"job": {"type": "other"}}}, if_match='"1"'
    )
    assert (refused.status, refused.json["scope"]) == (403, "jobs:submit")
    for verb in ("pause", "resume"):
        assert (await house("POST", f"/v1/schedules/s/{verb}")).status == 200


def test_what_somebody_does_with_a_schedule_is_told(sent):
    sent.pause("s")
    sent.resume("s")
    sent.put("s", sends(every_seconds=60), sent.read().revision)
    sent.delete("s", sent.read().revision)
    sent.put("s", sends(), None)
    found = sent.conn.execute(
        "select type, convert_from(data, 'utf8')::json->>'revision' from steadhold.events"
        " where aggregate_id = 'schedule:s' order by aggregate_revision"
    ).fetchall()
    words = ("created", "paused", "resumed", "changed", "deleted", "created")
    assert found == [(f"schedule.{word}", str(n)) for n, word in enumerate(words, 1)]


TEN_DAYS = 240
MOST = b'"%b"' % (b"x" * (SCHEDULE_EVENT_BYTES_MAX - 2))


@pytest.mark.parametrize(
    ("missed", "window", "events"),
    [("all", 86_400, 24), ("all", 20 * 86_400, 100), ("latest", 20 * 86_400, 1), ("skip", 60, 1)],
)
def test_ten_days_of_outage(sent, missed, window, events):
    """What is sent is bounded, comes in order, and each instant is in one row of the history."""
    most = Spec(
        event=Event("a", "report.due", MOST),
        every_seconds=3_600,
        overlap="enqueue",
        missed=missed,
        window_seconds=window,
    )
    sent.put("s", most, sent.read().revision)
    first = sent.read().next_at
    sent.to(first + TEN_DAYS * HOUR)
    while sent.tick(10):
        pass
    assert sum(run.count for run in sent.runs("s", None, 1_000).items) == TEN_DAYS + 1
    arrived(sent)
    came = inboxes.read(sent.conn, sent.workspace, "a", bytes_max=1 << 30).events
    told = [json.loads(event.body)["scheduled_at"] for event in came]
    assert (len(told), told) == (events, sorted(set(told)))
    assert sent.tick(10) == 0


def test_an_inbox_that_is_made_again_gets_what_comes_then(sent):
    """What was recorded while it was gone has failed, and stays so; each instant has one outcome."""
    sent.pass_()
    inboxes.delete(sent.conn, sent.workspace, "a", 1)
    sent.pass_()
    inboxes.put(sent.conn, sent.workspace, "a", inboxes.Retention(), None)
    due = sent.pass_()
    assert [outcome for outcome, _ in sent.told()] == ["started", "failed:inbox_missing", "started"]
    told = [json.loads(event.body)["scheduled_at"] for event in arrived(sent)]
    assert told[-1].startswith(due.strftime("%Y-%m-%dT%H"))


def test_a_backfill_of_what_failed_sends_nothing_twice(sent):
    due = [sent.pass_() for _ in range(3)]
    made = sent.backfill("s", due[0] - HOUR, due[-1] + HOUR, "again")
    assert (len(made.runs), len(made.existing)) == (1, 3)
    assert len(arrived(sent)) == 4
    again = sent.backfill("s", due[0] - HOUR, due[-1] + HOUR, "once-more")
    assert (again.runs, len(again.existing)) == ((), 4)
    assert len(arrived(sent)) == 4
