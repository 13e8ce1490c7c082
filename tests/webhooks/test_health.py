"""An endpoint's health and the retry schedule, as pure decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.webhooks import health
from steadhold.webhooks.health import WELL, Answered, Health

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
BAD, GOOD = Answered(well=False), Answered(well=True)


def seconds(amount):
    return timedelta(seconds=amount)


def test_the_first_failures_pause_nothing():
    assert health.after(WELL, [BAD] * 4, AT) == Health(4, AT)


def test_a_row_of_failures_pauses_and_then_one_probe_may_go():
    paused = health.after(WELL, [BAD] * 5, AT)
    assert paused.paused_until == AT + seconds(30)
    assert health.room(paused, 16, 0, AT + seconds(29)) == 0
    assert health.room(paused, 16, 0, AT + seconds(30)) == 1
    assert health.room(paused, 16, 1, AT + seconds(30)) == 0


def test_a_probe_that_fails_pauses_longer_up_to_a_day():
    paused, at, waits = health.after(WELL, [BAD] * 5, AT), AT, []
    for _ in range(16):
        at = paused.paused_until
        paused = health.after(paused, [BAD], at)
        waits.append((paused.paused_until - at).total_seconds())
    assert waits[:3] == [60, 120, 240]
    assert waits == sorted(waits)
    assert waits[-1] == 86_400


def test_a_probe_that_succeeds_lets_it_up_by_rounds_that_double():
    paused = health.after(WELL, [BAD] * 5, AT)
    widths = []
    for _ in range(7):
        paused = health.after(paused, [GOOD] * (paused.width or 0), AT + seconds(60))
        widths.append(paused.width)
    assert widths == [2, 4, 8, 16, 32, 64, None]
    assert health.after(paused, [GOOD], AT) == WELL


def test_a_success_that_began_before_the_pause_ends_no_pause():
    paused = health.after(WELL, [BAD] * 5, AT)
    assert health.after(paused, [GOOD], AT + seconds(1)) == paused


@pytest.mark.parametrize("asked, waits", [(0.0, 1.0), (7.0, 7.0), (10**9, 86_400.0)])
def test_what_the_endpoint_asks_for_is_kept_within_bounds(asked, waits):
    paused = health.after(WELL, [Answered(well=False, wait_seconds=asked)], AT)
    assert (paused.paused_until, paused.width) == (AT + seconds(waits), 1)


def test_it_is_disabled_by_days_and_count_together():
    ill = health.after(WELL, [BAD] * 19, AT)
    late = AT + timedelta(days=5)
    assert health.disables(ill, [BAD], late) is None
    worse = health.after(ill, [BAD], late)
    assert health.disables(worse, [BAD], late) == "failing"
    assert health.disables(worse, [BAD], late - seconds(1)) is None


def test_gone_disables_at_once():
    assert (
        health.disables(
            health.after(WELL, [Answered(well=False, gone=True)], AT), [Answered(well=False, gone=True)], AT
        )
        == "gone"
    )


def test_the_schedule_is_as_told_within_its_jitter():
    waits = [health.next_wait(health.RETRY_SECONDS, tries, "a") for tries in range(1, 11)]
    assert waits[-1] is None
    for wait, told in zip(waits[:-1], health.RETRY_SECONDS[1:], strict=True):
        assert 0.8 * told <= wait <= 1.2 * told


def test_deliveries_do_not_come_back_together():
    waits = {health.next_wait(health.RETRY_SECONDS, 2, str(n)) for n in range(100)}
    assert len(waits) == 100


@pytest.mark.parametrize(
    "text, said",
    [
        ("3", 3.0),
        (" 3 ", 3.0),
        ("-1", None),
        ("x", None),
        ("٣", None),
        ("", None),
        (None, None),
        ("9" * 10, None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds(text, said):
    assert health.retry_after(text) == said


@given(
    st.lists(
        st.tuples(st.sampled_from([GOOD, BAD, Answered(well=False, wait_seconds=5.0)]), st.integers(0, 100_000)),
        max_size=60,
    )
)
def test_a_pause_always_ends_within_a_day_and_then_somebody_may_try(story):
    now, state = AT, WELL
    for answered, later in story:
        now += seconds(later)
        state = health.after(state, [answered], now)
        if state.paused_until is not None and state.paused_until > now:
            assert state.paused_until - now <= timedelta(days=1)
            assert health.room(state, 4, 0, state.paused_until) >= 1
        else:
            assert health.room(state, 4, 0, now) >= 1
