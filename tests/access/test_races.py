"""Every interleaving of two changes of one key, one workspace, one workspace's entitlements."""

from __future__ import annotations

import pytest

from steadhold import access, state
from steadhold.access import plans
from steadhold.access.model import Actor, Entitled, Entitlements, KeyEnded, Made, Taken
from steadhold.kit.outcome import RevisionConflict
from tests.access.people import NOBODY, a_token

pytestmark = pytest.mark.races

NEW, OLDER = b"n" * 32, b"o" * 32


def planted(stage, *, seconds=None):
    """A boss, and a key of a robot; answers both as actors."""
    boss, robot = a_token(), a_token()
    wanted = {"env": "live", "subject": "boss", "kind": "person", "scopes": ("*:*",)}
    stage.play(access.import_key.call(stage.workspace, boss.key_id, boss.hash, **wanted))
    by = Actor("boss", boss.key_id)
    wanted = {"subject": "robot", "kind": "service", "scopes": ("*:*",), "expires_in_seconds": seconds}
    stage.play(access.make_key.call(stage.workspace, robot.key_id, robot.hash, **wanted, by=by))
    return by, Actor("robot", robot.key_id)


def rotate(scene, hashed=NEW, grace=30.0):
    boss, robot = scene.facts
    return access.rotate_key.call(scene.workspace, robot.key_id, hashed, grace_seconds=grace, by=boss)


def revoke(scene):
    boss, robot = scene.facts
    return access.revoke_key.call(scene.workspace, robot.key_id, by=boss)


def sweep(scene):
    return plans.end_keys.call(scene.workspace, 10)


def robot(scene):
    return scene.play(plans.find_key.call(scene.workspace, scene.facts[1].key_id))


def recorded(scene, kind):
    return len(scene.play(access.trail.call(scene.workspace, 100, kind=kind)))


def test_a_rotation_never_brings_a_revoked_key_back(explore):
    def always(scene):
        assert isinstance(scene.outcomes["revoke"], Made)
        found = robot(scene)
        assert (found.alive, found.old_hash) == (False, None)
        rotated = isinstance(scene.outcomes["rotate"], Made)
        assert rotated or scene.outcomes["rotate"] == KeyEnded(scene.facts[1].key_id)
        assert (found.hash == NEW) == rotated
        assert (recorded(scene, "key.rotated"), recorded(scene, "key.revoked")) == (int(rotated), 1)

    seen = explore(setup=planted, actors={"rotate": rotate, "revoke": revoke}, always=always)
    assert seen.waits
    assert {type(outcome["rotate"]) for outcome in seen.outcomes} == {Made, KeyEnded}


def test_of_two_rotations_the_last_secret_and_the_one_before_it_serve(explore):
    def always(scene):
        assert all(isinstance(outcome, Made) for outcome in scene.outcomes.values())
        found = robot(scene)
        assert {found.hash, found.old_hash} == {NEW, OLDER}

    actors = {"one": rotate, "other": lambda scene: rotate(scene, OLDER)}
    assert explore(setup=planted, actors=actors, always=always).waits


def test_of_two_revocations_one_is_recorded(explore):
    def always(scene):
        assert not robot(scene).alive
        assert recorded(scene, "key.revoked") == 1

    assert explore(setup=planted, actors={"one": revoke, "other": revoke}, always=always).waits


def test_an_expired_key_is_never_rotated_and_the_sweep_ends_it_once(explore):
    def always(scene):
        found, rotated = robot(scene), scene.outcomes["rotate"]
        if rotated == KeyEnded(scene.facts[1].key_id):
            assert (found.alive, found.hash != NEW) == (False, True)
        else:
            assert rotated.key.state == "active" or not found.alive
            assert found.hash == NEW
        if not found.alive:
            scene.play(sweep(scene))
            assert found.key.state == "expired"
        assert scene.play(sweep(scene)) == 0

    seen = explore(
        setup=lambda stage: planted(stage, seconds=60.0),
        actors={"rotate": rotate, "sweep": sweep},
        always=always,
        clock_moves={"past the expiry": 61},
    )
    assert {type(outcome["rotate"]) for outcome in seen.outcomes} == {Made, KeyEnded}
    assert {outcome["sweep"] for outcome in seen.outcomes} == {0, 1}


def test_a_maker_revoked_meanwhile_has_made_its_key_before_or_makes_none(explore):
    def make(scene):
        token = a_token()
        wanted = {"subject": "child", "kind": "service", "scopes": (), "expires_in_seconds": None}
        return access.make_key.call(scene.workspace, token.key_id, token.hash, **wanted, by=scene.facts[1])

    def always(scene):
        made = isinstance(scene.outcomes["make"], Made)
        assert made or scene.outcomes["make"] == KeyEnded(scene.facts[1].key_id)
        children = [key for key in scene.play(access.keys.call(scene.workspace, "", 10)) if key.subject == "child"]
        assert len(children) == made
        assert recorded(scene, "key.made") == 2 + made

    seen = explore(setup=planted, actors={"make": make, "revoke": revoke}, always=always)
    assert {type(outcome["make"]) for outcome in seen.outcomes} == {Made, KeyEnded}


def test_entitlements_are_created_once(explore):
    def put(most):
        return lambda scene: access.put_entitlements.call(
            scene.workspace, Entitlements(names_max=most), None, by=scene.facts[0]
        )

    def always(scene):
        won = [outcome for outcome in scene.outcomes.values() if isinstance(outcome, Entitled)]
        lost = [outcome for outcome in scene.outcomes.values() if isinstance(outcome, RevisionConflict)]
        assert (len(won), lost) == (1, [RevisionConflict(won[0].revision)])
        assert scene.play(access.limits.call(scene.workspace)) == won[0].limits
        assert recorded(scene, "entitlements.changed") == 1

    assert explore(setup=planted, actors={"one": put(1), "other": put(2)}, always=always).waits


def test_a_workspace_is_founded_once(explore, database):
    def unfounded(stage):
        with database.connect() as owner:
            owner.execute("delete from steadhold.workspaces where workspace = %s", (stage.workspace,))
        return {"one": a_token(), "other": a_token()}

    def found(name):
        def part(scene):
            token = scene.facts[name]
            return access.create_workspace.call(scene.workspace, token.key_id, token.hash, subject=name, by=NOBODY)

        return part

    def always(scene):
        outcomes = list(scene.outcomes.values())
        assert Taken(scene.workspace) in outcomes
        (won,) = (outcome for outcome in outcomes if isinstance(outcome, Made))
        assert scene.play(access.keys.call(scene.workspace, "", 10)) == [won.key]
        assert recorded(scene, "workspace.created") == 1

    assert explore(setup=unfounded, actors={"one": found("one"), "other": found("other")}, always=always).waits


def test_two_starts_of_one_folder_know_one_key(explore):
    wanted = {"env": "dev", "subject": "dev", "kind": "person", "scopes": ("*:*",)}

    def start(scene):
        return access.import_key.call(scene.workspace, scene.facts.key_id, scene.facts.hash, **wanted)

    def always(scene):
        assert scene.outcomes["one"] == scene.outcomes["other"]
        assert recorded(scene, "key.made") == 1

    assert explore(setup=lambda _: a_token(), actors={"one": start, "other": start}, always=always).waits


def test_a_recount_and_writers_lose_nothing(explore, clock):
    """Whatever a recount finds under way is added to it afterwards: the meters end with what is there."""

    def limited(stage):
        by = planted(stage)[0]
        stage.play(access.put_entitlements.call(stage.workspace, Entitlements(names_max=100), None, by=by))
        stage.play(state.put.call(stage.workspace, "there", b"12345", None))
        clock.move(6)

    def write(name):
        return lambda scene: state.put.call(scene.workspace, name, b"123", None)

    def always(scene):
        metered = scene.conn.execute(
            "select what, sum(amount)::bigint from steadhold.meters where workspace = %s group by what",
            (scene.workspace,),
        )
        assert dict(metered.fetchall()) == {"names": 2, "bytes": 8}

    seen = explore(
        setup=limited,
        actors={"writer": write("new"), "recount": lambda scene: plans.recount.call(scene.workspace)},
        always=always,
    )
    assert seen.waits
    assert {outcome["recount"] for outcome in seen.outcomes} == {1}


def test_writers_under_way_when_the_first_limit_comes_are_counted_soon(explore, clock):
    def write(scene):
        return state.put.call(scene.workspace, "new", b"123", None)

    def limit(scene):
        return access.put_entitlements.call(scene.workspace, Entitlements(bytes_max=100), None, by=scene.facts[0])

    def always(scene):
        clock.move(6)
        scene.play(plans.recount.call(scene.workspace))
        metered = scene.conn.execute(
            "select what, sum(amount)::bigint from steadhold.meters where workspace = %s group by what",
            (scene.workspace,),
        )
        assert dict(metered.fetchall()) == {"names": 1, "bytes": 3}

    assert explore(setup=planted, actors={"writer": write, "limit": limit}, always=always).interleavings > 3
