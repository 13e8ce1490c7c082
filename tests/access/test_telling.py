"""What is told of keys and entitlements: each change in its own transaction, never a secret, and nobody else's."""

from __future__ import annotations

import json

import pytest

from steadhold import access, events
from steadhold.access import plans
from steadhold.access.model import Actor, Entitlements
from steadhold.events import EventsPruned, Happened, History, ReservedId
from steadhold.events.model import OURS
from steadhold.kit.outcome import Missing
from tests.access.people import a_token, made, make


def told(conn, workspace, aggregate):
    found = events.history(conn, workspace, aggregate, 0, 100)
    assert isinstance(found, History)
    return [(event.type, event.aggregate_revision, json.loads(event.data)) for event in found.events]


def kinds(conn, workspace, aggregate):
    return [kind for kind, _, _ in told(conn, workspace, aggregate)]


def test_a_key_tells_of_its_making_its_rotation_and_its_end(conn, workspace, boss):
    key = make(conn, workspace, boss, seconds=900).key
    access.rotate_key(conn, workspace, key.key_id, a_token().hash, grace_seconds=60, by=boss)
    access.revoke_key(conn, workspace, key.key_id, by=boss)
    access.revoke_key(conn, workspace, key.key_id, by=boss)
    about = f"key:{key.key_id}"
    assert kinds(conn, workspace, about) == ["key.created", "key.rotated", "key.revoked"]
    (_, first, created), (_, second, rotated), (_, third, _) = told(conn, workspace, about)
    assert (first, second, third) == (key.revision, key.revision + 1, key.revision + 2)
    assert (created["key_id"], created["subject"], created["kind"], created["by"]) == (
        key.key_id,
        "robot",
        "service",
        "boss",
    )
    assert "expires_at" in created
    assert "old_secret_until" in rotated
    assert "old_secret_until" not in created


def test_what_the_clock_ends_is_told_when_it_is_written_down(conn, workspace, boss, clock):
    short = make(conn, workspace, boss, seconds=60).key.key_id
    long = make(conn, workspace, boss).key.key_id
    access.rotate_key(conn, workspace, long, a_token().hash, grace_seconds=60, by=boss)
    clock.move(61)
    assert plans.end_keys(conn, workspace, 10) == 2
    assert kinds(conn, workspace, f"key:{short}") == ["key.created", "key.expired"]
    assert kinds(conn, workspace, f"key:{long}") == ["key.created", "key.rotated", "key.grace_ended"]


def test_entitlements_tell_what_they_are(conn, workspace):
    by = Actor("operator", None)
    first = access.put_entitlements(conn, workspace, Entitlements(job_types=("a",), names_max=7), None, by=by)
    changed = access.put_entitlements(conn, workspace, Entitlements(), first.revision, by=by)
    access.put_entitlements(conn, workspace, Entitlements(names_max=1), first.revision, by=by)
    limits = {"job_types": ["a"], "names_max": 7, "revisions_kept": 10}
    assert told(conn, workspace, f"entitlements:{workspace}") == [
        ("entitlements.changed", first.revision, {"limits": limits, "by": "operator"}),
        ("entitlements.changed", changed.revision, {"limits": {"revisions_kept": 10}, "by": "operator"}),
    ]


async def test_of_operators_keys_nobody_is_told(player, database):
    token = await made(player, access.HOUSE, kind="operator")
    assert await player.play(access.trail.call(access.HOUSE, 1, resource=f"key:{token.key_id}"))
    with database.connect() as owner:
        seen = owner.execute("select count(*) from steadhold.events where aggregate_id = %s", [f"key:{token.key_id}"])
        assert seen.fetchone() == (0,)


def test_no_secret_is_told(conn, workspace, boss):
    first, second = a_token(bytes(range(32))), a_token(bytes(range(32, 64)))
    key = make(conn, workspace, boss, token=first).key
    access.rotate_key(conn, workspace, key.key_id, second.hash, grace_seconds=60, by=boss)
    found = events.history(conn, workspace, f"key:{key.key_id}", 0, 10)
    assert isinstance(found, History)
    lying = repr(found) + "".join(event.data.decode() for event in found.events)
    assert [event.type for event in found.events] == ["key.created", "key.rotated"]
    secrets = [part for token in (first, second) for part in (token.secret, token.hash.hex(), repr(token.hash)[2:-1])]
    assert [secret for secret in secrets if secret in lying] == []


@pytest.mark.parametrize("id", ["key:sh", "entitlements:acme"])
def test_only_the_room_itself_tells(conn, workspace, id):
    assert events.append(conn, workspace, id, None, [Happened("key.created")]) == ReservedId(id)


def test_the_database_knows_the_same_names_for_the_houses_own(conn):
    made = ["key:1", "entitlements:w", "order:1", "x-key:1", ""]
    names = [*made, *(f"{prefix}x" for prefix in OURS), *(prefix[:-1] for prefix in OURS)]
    for name in names:
        assert conn.execute("select steadhold.is_ours(%s)", [name]).fetchone() == (name.startswith(OURS),), name
    source = conn.execute("select prosrc from pg_proc where proname = 'append_event'").fetchone()[0]
    assert "if steadhold.is_ours(of_id) then" in source


def test_a_history_that_is_gone_is_told(conn, workspace, boss, clock):
    key = make(conn, workspace, boss).key
    clock.move(4 * 86_400)
    events.purge(conn, workspace, 100)
    assert events.history(conn, workspace, f"key:{key.key_id}", 0, 10) == EventsPruned(key.revision + 1)
    assert events.history(conn, workspace, f"entitlements:{workspace}", 0, 10) == Missing()
