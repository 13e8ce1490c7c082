"""How doors of inboxes are made, rotated and closed, and that what is secret is kept by nobody."""

from __future__ import annotations

import base64
import json

import pytest

from steadhold import access, events
from steadhold.access.token import secret_of
from steadhold.inboxes.door_keeper import hash_of, token_of
from steadhold.kit import limits
from steadhold.kit.ids import new_id
from steadhold.kit.seal import UNSEALED, Sealing
from tests.inboxes.street import KEY, SECRETS


def coded(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"scheme": "github", "secret": ""}, "bad_member", "/secret"),
        ({"scheme": "github", "secret": "short"}, "bad_member", "/secret"),
        ({"scheme": "github", "secret": None}, "bad_member", "/secret"),
        ({"scheme": "standard", "secret": "whsec_?"}, "bad_member", "/secret"),
        ({"scheme": "none"}, "bad_member", "/scheme"),
        ({"secret": "x" * 40}, "bad_member", "/scheme"),
        ({"scheme": "standard", "id_from": "header:x-id"}, "bad_member", "/id_from"),
        ({"scheme": "hmac", "id_from": "X-Id"}, "bad_member", "/id_from"),
    ],
)
async def test_an_unsigned_door_cannot_be_made(street, body, code, pointer):
    refused = await street("POST", "/v1/inboxes/a/doors", body)
    assert (refused.status, refused.code, refused.json.get("pointer")) == (400, code, pointer)
    assert (await street("GET", "/v1/inboxes/a/doors")).json["items"] == []


async def test_what_is_secret_is_shown_once(street):
    key = new_id()
    asked = {"scheme": "github"}
    made = await street("POST", "/v1/inboxes/a/doors", asked, idempotency_key=key)
    door = made.json
    assert (made.status, door["url"]) == (201, f"https://hooks.example/v1/in/{door['token']}")
    again = await street("POST", "/v1/inboxes/a/doors", asked, idempotency_key=key)
    assert again.headers["idempotent-replayed"] == "true"
    assert (again.status, again.json["secret_shown"], again.json["door_id"]) == (201, True, door["door_id"])
    assert not {"token", "url", "secret"} & again.json.keys()
    assert (await street.send(door, key=door["secret"].encode())).status == 201
    found = await street("GET", f"/v1/inboxes/a/doors/{door['door_id']}")
    assert found.json == (await street("GET", "/v1/inboxes/a/doors")).json["items"][0]
    assert found.json == {name: door[name] for name in found.json}
    told = found.body + again.body
    assert not [part for part in (door["token"], door["secret"]) if part.encode() in told]


async def test_a_rotated_secret_proves_for_its_grace(street, clock):
    door = await street.open("github")
    at = f"/v1/inboxes/a/doors/{door['door_id']}/rotate"
    rotated = await street("POST", at, {"grace_seconds": 60})
    new = rotated.json["secret"].encode()
    assert (rotated.json["revision"], rotated.json["old_secret_until"] is not None) == (door["revision"] + 1, True)
    assert [(await street.send(door, key=key)).status for key in (KEY, new)] == [201, 200]
    clock.move(61)
    assert [(await street.send(door, key=key)).status for key in (KEY, new)] == [401, 200]
    said = await street("POST", at, {"secret": SECRETS["hmac"], "grace_seconds": 0})
    assert (said.status, "secret" in said.json, said.json["old_secret_until"]) == (200, False, None)
    assert [(await street.send(door, key=key)).status for key in (KEY, new)] == [200, 401]
    assert (await street("POST", at, {"secret": "short"})).code == "bad_member"


async def test_only_a_secret_of_the_scheme_can_replace_one(street):
    door = await street.open("standard")
    at = f"/v1/inboxes/a/doors/{door['door_id']}/rotate"
    refused = await street("POST", at, {"secret": "no base64, and long enough"})
    assert (refused.status, refused.code, refused.json["pointer"]) == (400, "bad_member", "/secret")
    assert (await street.send(door)).status == 201


async def test_whatever_address_is_none_is_answered_alike(street):
    door, gone = await street.open("github"), await street.open("github")
    at = f"/v1/inboxes/a/doors/{gone['door_id']}"
    assert (await street.send(gone)).status == 201
    assert (await street("DELETE", at)).code == "condition_required"
    assert (await street("DELETE", at, if_match='"9"')).code == "condition_false"
    assert (await street("DELETE", at, if_match=f'"{gone["revision"]}"')).status == 204
    never = token_of(secret_of(b"n" * 32))
    answers = [
        await street.knock(token, {}) for token in (gone["token"], never, "door_x", "x", "%C3%A4", "%ff", "a" * 300, "")
    ]
    assert {(got.status, got.body, tuple(sorted(got.headers.items()))) for got in answers} == {
        (404, answers[0].body, tuple(sorted(answers[0].headers.items())))
    }
    assert (await street("GET", at)).body == answers[0].body
    assert (await street.send(door)).status == 201


async def test_doors_go_with_their_inbox(street):
    door = await street.open("github")
    inbox = (await street("GET", "/v1/inboxes/a")).json
    assert (await street("DELETE", "/v1/inboxes/a", if_match=f'"{inbox["revision"]}"')).status == 204
    assert (await street.send(door)).status == 404
    await street.make()
    assert (await street.send(door)).status == 404
    assert (await street("GET", "/v1/inboxes/a/doors")).json["items"] == []
    assert (await street("GET", f"/v1/inboxes/a/doors/{door['door_id']}")).status == 404
    assert (await street("GET", "/v1/inboxes/b/doors")).status == 404
    rotated = await street("POST", f"/v1/inboxes/a/doors/{door['door_id']}/rotate", {})
    assert rotated.status == 404
    assert (await street("POST", "/v1/inboxes/b/doors", {"scheme": "github"})).status == 404
    assert (await street.read()).json["last_sequence"] == 0


async def test_a_door_is_made_by_whoever_may_append(street, workspace):
    await street.enter(("inboxes:configure", "inboxes:read"))
    refused = await street("POST", "/v1/inboxes/a/doors", {"scheme": "github"})
    assert (refused.status, refused.code, refused.json["scope"]) == (403, "missing_scope", "inboxes:append")
    await street.enter(("inboxes:configure:a", "inboxes:append:a"))
    assert (await street("POST", "/v1/inboxes/a/doors", {"scheme": "github"})).status == 201
    assert (await street("POST", "/v1/inboxes/b/doors", {"scheme": "github"})).code == "missing_scope"


async def test_an_inbox_has_so_many_doors(street, monkeypatch):
    monkeypatch.setattr("steadhold.inboxes.doors.INBOX_DOORS_MAX", 2)
    made = [await street("POST", "/v1/inboxes/a/doors", {"scheme": "github"}) for _ in range(3)]
    assert [got.status for got in made] == [201, 201, 409]
    assert (made[2].code, made[2].json["doors_max"]) == ("doors_full", limits.INBOX_DOORS_MAX)
    first = (await street("GET", "/v1/inboxes/a/doors?limit=1")).json
    rest = (await street("GET", f"/v1/inboxes/a/doors?limit=1&cursor={first['next_cursor']}")).json
    assert [item["door_id"] for page in (first, rest) for item in page["items"]] == [
        got.json["door_id"] for got in made[:2]
    ]


async def test_a_server_that_cannot_open_a_secret_stores_nothing(street):
    door = await street.open("github")
    assert (await street.send(door)).status == 201
    for keys in (Sealing([b"x" * 32]), UNSEALED):
        street.sealed_by(keys)
        later = await street.send(door, **{"x-github-delivery": "d2"})
        assert (later.status, later.code, later.headers["retry-after"]) == (503, "unavailable", "60")
    await street.enter()
    assert (await street("POST", "/v1/inboxes/a/doors", {"scheme": "github"})).code == "no_sealing_key"
    assert (await street.read()).json["last_sequence"] == 1


async def test_an_old_secret_that_cannot_be_opened_shuts_out_no_new_one(street):
    """Who replaces the sealing key rotates what the one before sealed, and takes that away within the grace."""
    other, new = Sealing([b"x" * 32]), b"a secret that is sealed anew"
    door = await street.open("github")
    street.sealed_by(Sealing([*other.keys, b"k" * 32]))
    await street.enter()
    rotated = await street("POST", f"/v1/inboxes/a/doors/{door['door_id']}/rotate", {"secret": new.decode()})
    assert rotated.json["old_secret_until"]
    street.sealed_by(other)
    assert (await street.send(door, key=new)).status == 201
    assert (await street.send(door)).status == 503
    street.sealed_by(Sealing([b"k" * 32]))
    assert (await street.send(door)).status == 200
    assert (await street.send(door, key=new)).status == 503


async def test_what_is_kept_is_sealed_and_hashed(street, database):
    door = await street.open("github")
    await street("POST", f"/v1/inboxes/a/doors/{door['door_id']}/rotate", {"secret": SECRETS["hmac"][::-1]})
    with database.connect() as conn:
        tables = [name for (name,) in conn.execute(
            "select table_name from information_schema.tables where table_schema = 'steadhold'"
            " and table_type = 'BASE TABLE'"
        )]  # fmt: skip
        kept = {
            table: str(conn.execute(f"select t::text, to_jsonb(t)::text from steadhold.{table} t").fetchall())
            for table in tables
        }
        (place,) = conn.execute("select hash from steadhold.door_places where workspace = %s", [street.workspace])
    secrets = (door["token"], door["token"].removeprefix("door_"), SECRETS["hmac"], SECRETS["hmac"][::-1])
    spellings = [
        spelt for text in secrets for spelt in (text, text.encode().hex(), base64.b64encode(text.encode()).decode())
    ]
    assert [table for table, text in kept.items() for spelt in spellings if spelt in text] == []
    assert place == (hash_of(door["token"]),)
    assert "door.created" in kept["audit"]
    assert "door.rotated" in kept["audit"]


async def test_what_is_done_with_a_door_is_told_and_recorded(street):
    door = await street.open("github")
    at = f"/v1/inboxes/a/doors/{door['door_id']}"
    rotated = await street("POST", f"{at}/rotate", {"grace_seconds": 5})
    assert (await street("DELETE", at, if_match=f'"{rotated.json["revision"]}"')).status == 204
    history = events.history.call(street.workspace, f"webhook:door:{door['door_id']}", 0, 10)
    told = (await street.player.play(history)).events
    known = {"inbox": "a", "door_id": door["door_id"]}
    assert [(event.type, json.loads(event.data)) for event in told] == [
        ("door.created", {**known, "scheme": "github"}),
        ("door.rotated", {**known, "grace_seconds": 5.0}),
        ("door.deleted", known),
    ]
    resource = f"door:a/{door['door_id']}"
    recorded = await street.player.play(access.trail.call(street.workspace, 10, resource=resource))
    assert [(row.kind, row.subject) for row in recorded] == [
        ("door.deleted", "anna"), ("door.rotated", "anna"), ("door.created", "anna"),
    ]  # fmt: skip
