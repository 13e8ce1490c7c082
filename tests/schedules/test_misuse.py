"""What a door of schedules would refuse, a verb refuses, and says which member it was: no tick meets it."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from steadhold.kit.outcome import Missing
from steadhold.kit.rules import Misuse
from steadhold.schedules import Event, Job, Spec
from tests.schedules.conftest import spec

AT = datetime(2030, 1, 1, tzinfo=UTC)


def sending(event):
    return Spec(event=event, every_seconds=60, overlap="enqueue")


def starting(job=None, **said):
    return Spec(job=job or Job("t"), **{"every_seconds": 60, **said})


NO_SPECS = {
    "no id for a type": (starting(Job("a b")), r"job\.type"),
    "no JSON": (starting(Job("t", b"{")), r"job\.input: No exact JSON"),
    "two inputs": (starting(Job("t", b"1", "x")), "input or an input_ref"),
    "too many references": (starting(Job("t", inputs=("x",) * 64)), r"job\.inputs"),
    "no priority": (starting(Job("t", priority=10)), r"job\.priority"),
    "no inbox": (sending(Event("a/b", "t")), r"event\.inbox"),
    "no type": (sending(Event("a", "")), r"event\.type"),
    "too much": (sending(Event("a", "t", b'"%b"' % (b"x" * 48 * 1024))), r"event\.data: At most 49152 bytes"),
    "no JSON for an event": (sending(Event("a", "t", b"nope")), r"event\.data: No exact JSON"),
    "two cadences": (starting(at=AT), "exactly one of"),
    "none": (starting(every_seconds=None), "exactly one of"),
    "no time at all": (starting(every_seconds=0), "every_seconds"),
    "no cron": (starting(every_seconds=None, cron="* * *", time_zone="UTC"), "cron: "),
    "no zone": (starting(every_seconds=None, cron="* * * * *", time_zone="Mars/Base"), "time_zone: "),
    "cron without a zone": (starting(every_seconds=None, cron="* * * * *"), "time_zone: "),
    "a zone without cron": (starting(time_zone="UTC"), "time_zone: "),
    "an end before its beginning": (starting(starts_at=AT, ends_at=AT), "ends_at: "),
    "no whole second": (starting(every_seconds=None, at=AT.replace(microsecond=5)), "at: Instants are whole"),
    "an instant without its zone": (starting(starts_at=AT.replace(tzinfo=None)), "starts_at"),
    "more runs than there may be": (starting(max_runs=101), "max_runs"),
    "cron and an instant": (starting(every_seconds=None, cron="* * * * *", time_zone="UTC", at=AT), "exactly one of"),
    "sequential with coalesce": (starting(sequential=True), "sequential: "),
}


@pytest.mark.parametrize("fault", NO_SPECS)
def test_what_is_no_spec_is_refused(desk, fault):
    said, why = NO_SPECS[fault]
    with pytest.raises(Misuse, match=rf"^schedules\.put: spec: .*{why}"):
        desk.put("s", said, None)
    assert isinstance(desk.get("s"), Missing)


@pytest.mark.parametrize(
    ("verb", "arguments", "why"),
    [
        ("put", ("a/b", spec(), None), "put: id: An id"),
        ("get", ("",), "get: id: "),
        ("delete", ("s", -1), "delete: expected: It is at least 0"),
        ("pause", ("s t",), "pause: id: "),
        ("trigger", ("s", "o/p"), "trigger: operation_id: An id"),
        ("backfill", ("s", AT.replace(tzinfo=None), AT, "o"), "backfill: first: It has a time zone"),
        ("schedules", ("", 0), "schedules: limit: It is at least 1"),
        ("runs", ("s", None, 5_000), "runs: limit: It is at most 1000"),
        ("preview", ("s", None, 101), "preview: count: It is at most 100"),
    ],
)
def test_other_arguments_are_told_too(desk, verb, arguments, why):
    with pytest.raises(Misuse, match=rf"schedules\.{why}"):
        getattr(desk, verb)(*arguments)


def test_what_is_kept_is_not_tested_again(desk):
    """A bound may be another in the next version: what is kept goes on."""
    assert desk.put("s", spec(), None).created
    desk.conn.execute(
        "update steadhold.schedules set spec = convert_to("
        "replace(convert_from(spec, 'utf8'), '\"max_runs\":100', '\"max_runs\":1000'), 'utf8')"
    )
    assert desk.read().spec == msgspec.structs.replace(spec(), max_runs=1_000)
    assert desk.pass_()
