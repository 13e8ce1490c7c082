"""Doors against PostgreSQL: who comes in while a door is rotated or deleted, and by which index."""

from __future__ import annotations

import pytest

from steadhold import inboxes
from steadhold.access.model import Actor
from steadhold.inboxes import doors
from steadhold.inboxes.door_model import CameIn, Knock
from steadhold.inboxes.plans import SQL
from steadhold.inboxes.schemes import Refused
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import Missing
from steadhold.kit.seal import Sealing
from tests.inboxes.conftest import EVERYTHING
from tests.inboxes.street import BODY, KEY
from tests.inboxes.test_schemes import signed
from tests.operations.generic_plan import crowd, looked_up, walks

SEALING = Sealing([b"k" * 32])
BY = Actor("anna", None)
KNOCK = Knock(signed("github", BODY, KEY), BODY)


def sealed(stage, id, secret=KEY):
    return SEALING.seal(secret, doors.of_door(stage.workspace, id))


def built(stage):
    id = new_id()
    stage.play(inboxes.put.call(stage.workspace, "a", EVERYTHING, None))
    hash, secret = id.encode()[:32], sealed(stage, id)
    return stage.play(doors.make_door.call(stage.workspace, "a", id, "github", None, hash, secret, by=BY))


def comes(scene):
    return doors.come_in.call(scene.workspace, scene.facts.id, KNOCK, SEALING)


def look(scene):
    return scene.play(inboxes.read.call(scene.workspace, "a")).last_sequence


@pytest.mark.races
def test_twins_come_in_once(explore):
    def check(scene):
        came = list(scene.outcomes.values())
        assert sorted(one.duplicate for one in came) == [False, True]
        assert {one.event_id for one in came} == {came[0].event_id}
        assert look(scene) == 1

    seen = explore(setup=built, actors={"one": comes, "two": comes}, always=check)
    assert seen.interleavings >= 4
    assert seen.waits


def read(scene):
    return inboxes.read.call(scene.workspace, "a")


def nothing_after(explore, change, refusal):
    """Nothing is stored once the change is answered, however the two met."""

    def check(scene):
        assert look(scene) == scene.outcomes["owner"].last_sequence
        assert isinstance(scene.outcomes["sender"], CameIn if look(scene) else refusal)
        assert isinstance(scene.play(comes(scene)), refusal)

    owner = lambda scene: [change(scene), lambda _done: read(scene)]  # noqa: E731 - two turns of one actor
    seen = explore(setup=built, actors={"owner": owner, "sender": comes}, always=check)
    assert seen.waits
    assert {type(outcomes["sender"]) for outcomes in seen.outcomes} == {CameIn, refusal}


@pytest.mark.races
def test_nothing_comes_in_once_a_deletion_is_answered(explore):
    def change(scene):
        return doors.delete_door.call(scene.workspace, "a", scene.facts.id, scene.facts.revision, by=BY)

    nothing_after(explore, change, Missing)


@pytest.mark.races
def test_a_secret_that_was_rotated_out_proves_nothing_once_that_is_answered(explore):
    def change(scene):
        secret = sealed(scene, scene.facts.id, b"another secret of sixteen")
        return doors.rotate_door.call(scene.workspace, "a", scene.facts.id, secret, ("github",), 0.0, by=BY)

    nothing_after(explore, change, Refused)


crowded = crowd("""
insert into steadhold.inboxes
    (workspace, name, id, revision, present, epoch, incarnation, last_sequence, made_at, changed_at)
  select %(w)s, 'b' || n, md5(n::text)::uuid, 1, true, 'e', 0, 9, c, c
  from generate_series(1, 3000) n, steadhold.clock() c;
insert into steadhold.doors (workspace, id, inbox, inbox_name, revision, scheme, sealed, made_at, changed_at)
  select %(w)s, md5('d' || n)::uuid, md5((n %% 100)::text)::uuid, 'b' || n, 1, 'hmac', '', c, c
  from generate_series(1, 6000) n, steadhold.clock() c;
insert into steadhold.door_places select sha256(n::text::bytea), %(w)s, md5('d' || n)::uuid
  from generate_series(1, 6000) n
""")


@pytest.mark.parametrize(
    ("name", "table", "index"),
    [
        ("enter", "doors", "doors_pkey"),
        ("hold_door", "doors", "doors_pkey"),
        ("door", "doors", "doors_of_inbox doors_pkey"),  # either finds the one row, as statistics have it
        ("doors", "doors", "doors_of_inbox"),
        ("count_doors", "doors", "doors_of_inbox"),
        ("drop_door", "door_places", "door_places_of_door"),
        ("cleared", "door_places", "door_places_of_door"),
    ],
)
def test_by_which_index(crowded, name, table, index):
    walked = walks(crowded, getattr(SQL, name))[table]
    assert len(walked) == 1
    assert walked <= set(index.split())


def test_an_address_is_found_by_its_hash(crowded):
    """And its door by its own. Whose they are is not known before: a walk would go through those of all workspaces."""
    assert looked_up(crowded, "find_door", wanted="'\\x00'::bytea") == {
        table: {f"{table}_pkey"} for table in ("door_places", "doors", "entitlements")
    }
