"""inboxes against PostgreSQL: numbers without a hole, keys that are known, epochs that end."""

from __future__ import annotations

import uuid

from steadhold import inboxes
from steadhold.inboxes.model import (
    Appended,
    BeyondHead,
    KeyPruned,
    Mismatch,
    NoInbox,
    Restored,
    Retention,
    Written,
)
from steadhold.kit.ids import uuid7
from steadhold.kit.outcome import Missing, RevisionConflict
from tests.inboxes.conftest import EVERYTHING, event, numbers, restored, told

DAY = 86_400


def _rest(door, key):
    found = door.receipt("a", f"client:{key}")
    return found.event_id, found.accepted_at, False


def test_numbers_follow_each_other(door):
    door.make()
    assert numbers(door.add("x", "y")) == [1, 2]
    assert numbers(door.add("z")) == [3]
    page = door.read("a")
    assert told(page) == [1, 2, 3]
    assert (page.next_after, page.first_retained, page.last_sequence, page.gaps) == (3, 1, 3, ())
    assert [(e.envelope.type, e.body) for e in page.events] == [("t", b"1")] * 3


def test_inboxes_count_each_for_itself(door):
    door.make("a")
    door.make("b")
    door.fill(3, "a")
    assert numbers(door.fill(2, "b")) == [1, 2]
    assert door.get("b").epoch != door.get("a").epoch


def test_nothing_is_appended_to_what_is_not_there(door):
    assert door.add("x") == NoInbox("a")
    assert door.read("a") == NoInbox("a")
    assert door.get("a") == Missing()
    assert door.receipt("a", "client:x") == Missing()
    door.make()
    assert door.append("a", []) == []
    door.delete("a", 1)
    assert door.append("a", []) == door.add("x") == NoInbox("a")


def test_a_key_that_is_known_has_its_first_place(door):
    door.make()
    (first,) = door.add("x")
    (again,) = door.add("x")
    assert isinstance(first, Appended)
    assert not first.duplicate
    assert again.duplicate
    assert (again.sequence, again.event_id, again.accepted_at) == (1, first.event_id, first.accepted_at)
    assert door.get("a").last_sequence == 1
    assert numbers(door.add("y")) == [2]


def test_other_content_under_a_known_key_is_told(door):
    door.make()
    door.add("x")
    epoch = door.epoch()
    assert door.append("a", [event("x", b"2"), event("y"), event("x", type="u")]) == [
        Mismatch("x", 1, epoch),
        door.append("a", [event("y")])[0].__class__(2, epoch, *_rest(door, "y")),
        Mismatch("x", 1, epoch),
    ]


def test_twins_in_one_batch(door):
    door.make()
    one, two, three, four = door.append("a", [event("x"), event("x"), event("x", b"2"), event("y")])
    assert (one.sequence, one.duplicate, two.sequence, two.duplicate, four.sequence) == (1, False, 1, True, 2)
    assert three == Mismatch("x", 1, door.epoch())


def test_sources_have_keys_of_their_own(door):
    door.make()
    from_client, from_relay, from_door = (event("x", source=source) for source in ("client", "relay", "door"))
    outcomes = door.append("a", [from_client, from_relay, from_door])
    assert numbers(outcomes) == [1, 2, 3]
    assert len({outcome.event_id for outcome in outcomes}) == 3


def _named(workspace, sent, inbox="a"):
    return inboxes.items.event_id(workspace, inbox, sent, sent.digest)


def test_the_same_event_under_the_same_key_has_the_same_id_wherever_it_is_sent_again(door):
    door.make()
    (first,) = door.add("x")
    assert uuid.UUID(first.event_id).version == 8
    assert uuid.UUID(first.event_id).variant == uuid.RFC_4122
    assert door.receipt("a", "client:x").event_id == _named(door.workspace, event("x")) == first.event_id
    door.delete("a", 1)
    door.make()
    assert door.add("x")[0].event_id == first.event_id


def test_another_event_has_another_id_whatever_its_key(door):
    """Who has applied one would take the other for it, and pass it over."""
    door.make()
    (first,) = door.add("x")
    others = [
        _named(door.workspace, event("x", b"2")), _named(door.workspace, event("x", type="u")),
        _named("elsewhere", event("x")), _named(door.workspace, event("x"), "b"),
        _named(door.workspace, event("x", source="door")),
    ]  # fmt: skip
    assert len({first.event_id, *others}) == 6
    door.delete("a", 1)
    door.make()
    assert door.add("x", body=b"2")[0].event_id == others[0]


def test_at_a_door_the_key_says_which_event_it_is(door):
    assert _named("w", event("x", b"1", source="door")) == _named("w", event("x", b"2", source="door"))


def test_a_receipt_tells_what_a_lost_answer_said(door, clock):
    door.make()
    (first,) = door.add("x")
    found = door.receipt("a", "client:x")
    assert (found.sequence, found.epoch, found.event_id) == (first.sequence, first.epoch, first.event_id)
    assert door.receipt("a", "client:y") == Missing()
    old, new = uuid7(0, bytes(10)), uuid7(int(clock.now().timestamp() * 1_000), bytes(10))
    assert door.receipt("a", f"client:{old}") == KeyPruned(old)
    assert door.receipt("a", f"client:{new}") == Missing()
    kept = uuid7(int((clock.now().timestamp() - 50 * DAY) * 1_000), bytes(10))
    assert door.receipt("a", f"client:{kept}") == KeyPruned(kept)
    door.put("a", Retention(16.0 * DAY, None, None), 1)
    assert door.receipt("a", f"client:{kept}") == Missing()


def test_pages_follow_each_other(door):
    door.make()
    door.fill(5)
    epoch = door.epoch()
    first = door.read("a", epoch, 0, 2)
    second = door.read("a", epoch, first.next_after, 2)
    third = door.read("a", epoch, second.next_after, 2)
    assert [told(page) for page in (first, second, third)] == [[1, 2], [3, 4], [5]]
    after = door.read("a", epoch, 5)
    assert (told(after), after.next_after) == ([], 5)
    assert door.read("a", epoch, 6) == BeyondHead(5)


def test_a_page_ends_with_the_event_that_fills_it(door):
    """What an event says of itself counts as its data does."""
    door.make()
    door.append("a", [event(f"k{n}", b'"%b"' % (b"x" * 8)) for n in range(5)])  # with its head, 20 bytes each
    assert told(door.read("a", bytes_max=41)) == [1, 2, 3]
    assert told(door.read("a", bytes_max=40)) == [1, 2]
    assert told(door.read("a", limit=1, bytes_max=40)) == [1]


def test_a_position_is_of_an_epoch(door):
    door.make()
    door.fill(1)
    assert door.read("a", "other", 0) == Restored(door.epoch(), 1)


def test_a_life_of_the_data_has_epochs_of_its_own(door):
    door.make()
    door.fill(3)
    before = door.epoch()
    restored(door.conn)
    after = door.epoch()
    assert after != before
    assert door.read("a", before, 1) == Restored(after, 3)
    assert told(door.read("a", after, 1)) == [2, 3]
    assert door.add("k3")[0].epoch == after
    (new,) = door.add("new")
    assert (new.sequence, new.epoch, door.epoch()) == (4, after, after)
    again = door.epoch()
    restored(door.conn)
    assert door.epoch() not in {before, again}


def test_where_nothing_committed_is_lost_an_epoch_goes_on(door):
    door.make()
    door.fill(2)
    before = door.epoch()
    door.conn.execute("select set_config('steadhold.replication', 'synchronous', true)")
    restored(door.conn)
    assert door.epoch() == before
    assert door.add("more")[0].epoch == before


def test_an_inbox_has_revisions(door):
    assert door.make() == Written(1)
    assert door.make() == RevisionConflict(1)
    assert door.put("a", Retention(60.0, 5, 6), 2) == RevisionConflict(1)
    assert door.put("a", Retention(60.0, 5, 6), 1) == Written(2)
    assert door.get("a").retention == Retention(60.0, 5, 6)
    assert door.put("b", EVERYTHING, 1) == Missing()
    assert door.delete("a", 1) == RevisionConflict(2)
    assert door.delete("a", 2) == Written(3)
    assert door.delete("a", 3) == Missing(3)
    assert door.get("a") == Missing()


def test_the_list_shows_what_may_be_shown(door):
    for name in ("a", "b", "c"):
        door.make(name)
    assert [box.name for box in door.inboxes("", 2)] == ["a", "b"]
    assert [box.name for box in door.inboxes("a", 9)] == ["b", "c"]
    assert [box.name for box in door.inboxes("", 9, ["c"])] == ["c"]
