"""access through the doors: what is shown once, what is refused, and who may ask."""

from __future__ import annotations

import functools

import pytest

from steadhold import access
from steadhold.access.authenticate import Keyring, permits
from steadhold.access.model import HOUSE
from steadhold.access.routes import ROUTES
from steadhold.access.token import parse_token
from steadhold.db.pool import Pool
from steadhold.kit.ids import new_id
from steadhold.kit.page import write_cursor
from steadhold.play.single import Single
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web.codes import PROBLEMS
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.access.people import a_name, a_token, dumped
from tests.web.toy import Client

KEY = {"subject": "robot", "kind": "service", "scopes": ["state:read"]}


class House:
    """A server's doors to access over a real database, and clients with keys for it."""

    def __init__(self, player, workspace):
        self.player, self.workspace = player, workspace
        self.keyring = Keyring(player)
        above = Above(
            play=player.play,
            authenticate=self.keyring.principal,
            permits=permits,
            receipted=functools.partial(receipted, kept_seconds=3_600),
            trouble=trouble,
            rate=self.keyring.rate,
            known=self.keyring.known,
            forget=self.keyring.forget,
            house=HOUSE,
        )
        self.doors = Doors(ROUTES, above, hub=Hub(), flights=Flights())

    async def client(self, *, kind="person", scopes=("*:*",)):
        token = a_token()
        where = HOUSE if kind == "operator" else self.workspace
        wanted = {"env": "live", "subject": kind, "kind": kind, "scopes": scopes}
        await self.player.play(access.import_key.call(where, token.key_id, token.hash, **wanted))
        return Client(self.doors, token.text)


def body(value):
    import msgspec

    return msgspec.json.encode(value)


def sent(client, method, target, value=None, **headers):
    headers.setdefault("idempotency_key", new_id())
    return client(method, target, b"" if value is None else body(value), **headers)


@pytest.fixture
async def house(dsn, workspace):
    async with Pool(dsn, size=4) as pool:
        yield House(Single(pool), workspace)


@pytest.fixture
async def boss(house):
    return await house.client()


@pytest.fixture
async def operator(house):
    return await house.client(kind="operator")


async def test_a_key_is_shown_once(house, boss):
    made = await sent(boss, "POST", "/v1/keys", KEY, idempotency_key="op-1")
    assert made.status == 201
    told = made.json
    assert (told["subject"], told["kind"], told["scopes"], told["state"]) == (
        "robot",
        "service",
        ["state:read"],
        "active",
    )
    assert (made.headers["etag"], told["workspace"]) == (f'"{told["revision"]}"', house.workspace)
    assert await house.keyring.principal(told["key"])
    again = await sent(boss, "POST", "/v1/keys", KEY, idempotency_key="op-1")
    assert (again.status, again.headers["idempotent-replayed"]) == (201, "true")
    assert again.json == {name: value for name, value in told.items() if name != "key"} | {"secret_shown": True}
    read = await boss("GET", f"/v1/keys/{told['key_id']}")
    listed = await boss("GET", "/v1/keys")
    for later in (again.body, read.body, listed.body, (await boss("GET", "/v1/audit")).body):
        assert told["key"].rpartition("_")[2][:43].encode() not in later
    assert read.json in listed.json["items"]


async def test_no_secret_lies_in_a_receipt(house, operator, database):
    made = await sent(operator, "POST", "/v1/workspaces", {"name": a_name()}, idempotency_key="op-receipt")
    boss = Client(house.doors, made.json["key"])
    key = (await sent(boss, "POST", "/v1/keys", KEY)).json
    rotated = (await sent(boss, "POST", f"/v1/keys/{key['key_id']}/rotate", {"grace_seconds": 60})).json
    dump = dumped(database)
    assert b'"secret_shown":true'.hex() in dump  # the receipts are in it
    for text in (made.json["key"], key["key"], rotated["key"]):
        secret = parse_token(text).secret[:20]
        assert secret not in dump
        assert secret.encode().hex() not in dump


async def test_a_key_needs_an_operation(boss):
    refused = await boss("POST", "/v1/keys", body(KEY))
    assert (refused.status, refused.code) == (400, "key_required")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"scopes": ["state:fly"]}, "bad_scope"),
        ({"scopes": ["jobs:read:a"]}, "bad_scope"),
        ({"scopes": ["approvals:vote"]}, "bad_scope"),
        ({"scopes": ["state:read"] * 65}, "bad_member"),
        ({"scopes": "state:read"}, "bad_member"),
        ({"subject": "a b"}, "bad_member"),
        ({"subject": ""}, "bad_member"),
        ({"kind": "operator"}, "bad_member"),
        ({"expires_in_seconds": 0}, "bad_member"),
        ({"expires_in_seconds": 1e300}, "bad_member"),
        ({"key_id": "mine"}, "bad_member"),
        ({"revision": 3}, "bad_member"),
    ],
)
async def test_what_no_key_can_be(house, boss, change, code):
    refused = await sent(boss, "POST", "/v1/keys", KEY | change)
    assert (refused.status, refused.code) == (PROBLEMS[code].status, code)
    assert len((await boss("GET", "/v1/keys")).json["items"]) == 1


async def test_a_key_is_no_more_than_its_maker(house):
    robot = await house.client(kind="service", scopes=("keys:create", "state:read:a"))
    for change, what in (({"kind": "person"}, "kind"), ({"scopes": ["state:read"]}, "scopes")):
        refused = await sent(robot, "POST", "/v1/keys", KEY | {"scopes": ["state:read:a/b"]} | change)
        assert (refused.status, refused.code, refused.json["what"]) == (403, "exceeds_maker", what)
    assert (await sent(robot, "POST", "/v1/keys", KEY | {"scopes": ["state:read:a/b"]})).status == 201


async def test_a_key_is_rotated_and_revoked(house, boss):
    key = (await sent(boss, "POST", "/v1/keys", KEY)).json
    at = f"/v1/keys/{key['key_id']}"
    rotated = await sent(boss, "POST", f"{at}/rotate", {"grace_seconds": 60})
    assert (rotated.status, rotated.json["key_id"], rotated.json["key"] != key["key"]) == (200, key["key_id"], True)
    assert rotated.json["old_secret_until"]
    for text in (key["key"], rotated.json["key"]):
        assert await house.keyring.principal(text)
    revoked = await sent(boss, "POST", f"{at}/revoke")
    assert (revoked.status, revoked.json["state"]) == (200, "revoked")
    for text in (key["key"], rotated.json["key"]):
        assert await house.keyring.principal(text) is None
    assert (await sent(boss, "POST", f"{at}/revoke")).json == revoked.json
    assert (await sent(boss, "POST", f"{at}/rotate", {})).code == "key_ended"


async def test_a_reading_tells_that_nothing_changed(boss):
    key = (await sent(boss, "POST", "/v1/keys", KEY)).json
    same = await boss("GET", f"/v1/keys/{key['key_id']}", if_none_match=f'"{key["revision"]}"')
    assert (same.status, same.body) == (304, b"")


@pytest.mark.parametrize("verb", ["", "/rotate", "/revoke"])
async def test_a_missing_a_foreign_and_a_malformed_id_are_told_alike(house, boss, database, verb):
    elsewhere = House(house.player, database.new_workspace())
    foreign = (await sent(await elsewhere.client(), "POST", "/v1/keys", KEY)).json["key_id"]
    told = set()
    for key_id in (foreign, "0" * 22, "x", "a%2Fb", "%00", "x" * 300):
        got = await sent(boss, "POST" if verb else "GET", f"/v1/keys/{key_id}{verb}", {} if verb == "/rotate" else None)
        told.add((got.status, got.code, got.body))
    assert len(told) == 1
    assert next(iter(told))[:2] == (404, "not_found")


async def test_a_key_that_ends_while_it_asks_makes_nothing(house, boss):
    """The server may trust a key for two seconds more than the database does."""
    robot = await house.client(kind="service", scopes=("keys:create", "keys:read"))
    me = (await robot("GET", "/v1/keys")).json["items"][-1]["key_id"]
    other_server = House(house.player, house.workspace)
    await sent(Client(other_server.doors, boss.key), "POST", f"/v1/keys/{me}/revoke")
    assert (await robot("GET", "/v1/keys")).status == 200
    refused = await sent(robot, "POST", "/v1/keys", KEY | {"scopes": []})
    assert (refused.status, refused.code, refused.headers["www-authenticate"]) == (401, "no_valid_key", "Bearer")


async def test_an_operator_founds_workspaces(house, operator):
    name = a_name()
    made = await sent(operator, "POST", "/v1/workspaces", {"name": name})
    assert (made.status, made.json["workspace"], made.json["subject"], made.json["kind"]) == (
        201,
        name,
        "owner",
        "person",
    )
    first = Client(house.doors, made.json["key"])
    assert [key["key_id"] for key in (await first("GET", "/v1/keys")).json["items"]] == [made.json["key_id"]]
    assert (await sent(operator, "POST", "/v1/workspaces", {"name": name})).code == "workspace_exists"
    found, cursor = [], ""
    while cursor is not None:
        listed = (await operator("GET", f"/v1/workspaces?limit=1000{cursor and f'&cursor={cursor}'}")).json
        found, cursor = found + [item["name"] for item in listed["items"]], listed.get("next_cursor")
    assert name in found
    keys = await operator("GET", f"/v1/keys?workspace={name}")
    assert keys.json["items"][0]["subject"] == "owner"


async def test_a_workspace_is_founded_once_under_one_operation(operator):
    name = a_name()
    first, again = [
        await sent(operator, "POST", "/v1/workspaces", {"name": name}, idempotency_key="op-w") for _ in range(2)
    ]
    assert again.json == {k: v for k, v in first.json.items() if k != "key"} | {"secret_shown": True}


@pytest.mark.parametrize("name", ["", "A", "~house", "*", "a/b", "x" * 64])
async def test_what_names_no_workspace_founds_none(operator, name):
    refused = await sent(operator, "POST", "/v1/workspaces", {"name": name})
    assert (refused.status, refused.code) == (400, "bad_name")


async def test_workspaces_and_entitlements_are_an_operators(boss):
    for method, target in (("POST", "/v1/workspaces"), ("GET", "/v1/workspaces"), ("PUT", "/v1/entitlements")):
        refused = await sent(boss, method, target, {"name": a_name()} if method == "POST" else None)
        assert (refused.status, refused.code) == (403, "missing_scope")


async def test_entitlements_are_put_under_a_condition(house, boss, operator):
    at = f"/v1/entitlements?workspace={house.workspace}"
    assert (await boss("GET", "/v1/entitlements")).json["revision"] == 0
    assert (await sent(operator, "PUT", at, {"names_max": 3})).code == "condition_required"
    assert (await sent(operator, "PUT", at, {}, if_match='"7"')).code == "condition_false"
    made = await sent(operator, "PUT", at, {"names_max": 3, "job_types": ["mail"]}, if_none_match="*")
    assert (made.status, made.json["limits"]["names_max"], made.json["limits"]["job_types"]) == (201, 3, ["mail"])
    assert (await sent(operator, "PUT", at, {}, if_none_match="*")).json["current_revision"] == made.json["revision"]
    changed = await sent(operator, "PUT", at, {"names_max": 4}, if_match=made.headers["etag"])
    assert (changed.status, changed.json["limits"]["job_types"]) == (200, None)
    told = await boss("GET", "/v1/entitlements")
    assert told.json["limits"] == changed.json["limits"]
    assert told.headers["etag"] == changed.headers["etag"]


@pytest.mark.parametrize(
    "wrong",
    [{"names_max": -1}, {"names_max": 1.5}, {"requests_per_second_max": 0}, {"job_types": ["a/b"]}, {"more": 1}],
)
async def test_what_no_entitlement_can_be(house, operator, wrong):
    refused = await sent(operator, "PUT", f"/v1/entitlements?workspace={house.workspace}", wrong, if_none_match="*")
    assert (refused.status, refused.code) == (400, "bad_member")


async def test_the_record_tells_who_did_what(house, boss):
    key = (await sent(boss, "POST", "/v1/keys", KEY, idempotency_key="op-7")).json["key_id"]
    await sent(boss, "POST", f"/v1/keys/{key}/revoke")
    told = (await boss("GET", f"/v1/audit?resource=key:{key}")).json["items"]
    assert [(row["kind"], row["subject"]) for row in told] == [("key.revoked", "person"), ("key.made", "person")]
    assert told[1]["operation_id"] == "op-7"
    first = await boss("GET", "/v1/audit?limit=1")
    assert (await boss("GET", "/v1/audit?subject=%00")).code == "bad_query"
    assert (await boss("GET", f"/v1/audit?cursor={write_cursor('audit', 'never', 1)}")).code == "bad_cursor"
    rest = await boss("GET", f"/v1/audit?limit=100&cursor={first.json['next_cursor']}")
    assert [*first.json["items"], *rest.json["items"]] == (await boss("GET", "/v1/audit")).json["items"]


async def test_a_key_is_told_who_it_is(house):
    client = await house.client(kind="service", scopes=("state:read:a",))
    told = (await client("GET", "/v1/whoami")).json
    assert (told["kind"], told["scopes"]) == ("service", ["state:read:a"])
    assert told["workspace"] == (await (await house.client())("GET", "/v1/whoami")).json["workspace"]


SCOPED = [route for route in ROUTES if route.scope]


@pytest.mark.parametrize("route", SCOPED, ids=lambda route: f"{route.method} {route.path}")
async def test_without_its_scope_a_door_is_closed_whatever_is_there(house, route):
    """Scope is tested before anything is read: the answer is the same for what is there and what is not."""
    room, verb = route.scope.split(":")
    others = (*tuple(f"{room}:{v}" for v in access.VERBS[room] if v != verb), "state:*")
    client = await house.client(kind="service", scopes=others)
    refused = await sent(client, route.method, route.path.replace("{key_id}", "0" * 22))
    assert (refused.status, refused.code, refused.json["scope"]) == (403, "missing_scope", route.scope)


async def test_every_problem_of_a_route_has_a_kind():
    assert {code for route in ROUTES for code in route.problems} <= set(PROBLEMS)
