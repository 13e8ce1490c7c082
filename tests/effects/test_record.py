"""What is kept of an effect and of a charge: for ever, by nobody's leave to change it."""

from __future__ import annotations

import pytest

from steadhold.effects import Entry, EntryConflict
from steadhold.server.settings import Retention
from tests.effects.people import OPERATOR, WORKER


@pytest.mark.parametrize("table", ["effect_history", "effect_facts", "journal_entries", "effects"])
@pytest.mark.parametrize("verb", ["delete from steadhold.{}", "truncate steadhold.{}"])
def test_nothing_is_deleted(desk, table, verb):
    desk.say(desk.begun(), "unknown", evidence_id="e")
    desk.enter("j", Entry("1", "1", "EUR"), by=WORKER)
    with pytest.raises(Exception, match="permission denied"):
        desk.conn.execute(verb.format(table))


@pytest.mark.parametrize(
    "sql",
    [
        "update steadhold.effect_history set actor = 'x'",
        "update steadhold.effect_history set to_state = 'x'",
        "update steadhold.effect_facts set digest = digest",
        "update steadhold.journal_entries set amount = '2'",
        "update steadhold.effects set amount = '2'",
        "update steadhold.effects set request_digest = request_digest",
        "update steadhold.effects set target = 'x'",
        "update steadhold.effects set job = null",
        "update steadhold.effects set expires_at = expires_at",
    ],
)
def test_what_was_written_is_not_rewritten(desk, sql):
    desk.say(desk.begun(), "unknown", evidence_id="e")
    desk.enter("j", Entry("1", "1", "EUR"), by=WORKER)
    with pytest.raises(Exception, match="permission denied"):
        desk.conn.execute(sql)


def test_no_window_names_them():
    assert [name for name in Retention.__struct_fields__ if "effect" in name or "journal" in name] == []


def test_an_entry_is_kept_once(desk):
    entry = Entry("order-7", "12.50", "EUR", "charge-7", "s3://x", "cause", "note")
    first = desk.enter("sales", entry, by=WORKER)
    again = desk.enter("sales", entry, by=OPERATOR)
    assert (first.repeated, again.repeated, again.entered) == (False, True, first.entered)
    assert (first.entered.entry, first.entered.actor, first.entered.journal) == (entry, "worker", "sales")
    for other in (Entry("order-7", "12.51", "EUR"), Entry("order-7", "12.50", "USD"), Entry("order-7", "12.50", "EUR")):
        assert desk.enter("sales", other, by=WORKER) == EntryConflict("order-7")
    assert not desk.enter("costs", entry, by=WORKER).repeated
    assert [kept.entry.amount for kept in desk.entries("sales", None, 10)] == ["12.50"]


def test_a_journal_is_read_in_pages(desk):
    for n in range(5):
        desk.enter("j", Entry(f"e{n}", f"{n}.10", "EUR"), by=WORKER)
    first = desk.entries("j", None, 2)
    rest = desk.entries("j", (first[-1].at, first[-1].entry.id), 10)
    assert [kept.entry.amount for kept in (*first, *rest)] == [f"{n}.10" for n in range(5)]


@pytest.mark.parametrize(
    ("amount", "currency"), [("1,5", "EUR"), ("", "EUR"), ("1", "euro"), ("1", ""), ("NaN", "EUR")]
)
def test_what_is_no_charge(desk, amount, currency):
    with pytest.raises(ValueError, match=r"\w"):
        desk.enter("j", Entry("1", amount, currency), by=WORKER)


def test_a_life_that_was_lost_takes_nothing_with_it(desk, clock):
    """What was begun before goes on above all numbers that may have been issued, and time acts on it as ever."""
    id, other = desk.begun(), desk.begun()
    desk.conn.execute("reset role")
    desk.conn.execute("select steadhold.begin_incarnation(0)")
    desk.conn.execute("set role steadhold_app")
    base = 1 << 32
    assert desk.say(id, "unknown", evidence_id="e1").effect.revision == base + 2
    assert desk.say(id, "unknown", evidence_id="e1").repeated
    assert [line.revision for line in desk.history(id, 0, 9)] == [1, 2, base + 1, base + 2]
    assert desk.get(desk.planned()).revision == base + 1
    clock.move(301)
    assert (desk.sweep(), desk.stands(other)) == (1, ("unknown", "none", "needed"))
