"""`steadhold keys` and `workspaces`: over HTTP by a key, or at the database, and which of the two."""

from __future__ import annotations

import msgspec
import pytest

from steadhold import access
from tests.cli.conftest import problem, reply

KEY = {"key_id": "k" * 22, "subject": "svc", "kind": "service", "state": "active", "scopes": ["state:read", "jobs:*"]}


def told(result):
    return msgspec.json.decode(result.stdout)


def test_a_key_is_made_and_shown_once(steadhold, server):
    server.then(reply(201, msgspec.json.encode(KEY | {"key": "sh_live_secret"})))
    result = steadhold(
        "keys", "create", "svc", "--scope", "state:read", "--scope", "jobs:*", "--expires-in-seconds", "60"
    )
    assert told(result)["key"] == "sh_live_secret"
    assert msgspec.json.decode(server.last.content) == {
        "subject": "svc", "kind": "service", "scopes": ["state:read", "jobs:*"], "expires_in_seconds": 60,
    }  # fmt: skip


@pytest.mark.parametrize(
    "made, ends",
    [({"key": "sh_live_secret"}, ["key", "sh_live_secret"]), ({"secret_shown": True}, ["secret_shown", "yes"])],
    ids=["shown", "shown before"],
)
def test_a_secret_that_was_shown_before_is_told_so_and_no_other(steadhold, server, made, ends):
    server.then(reply(201, msgspec.json.encode(KEY | made)))
    said = steadhold("keys", "create", "svc", "--scope", "state:read", "-o", "table").stdout
    assert said.splitlines()[-1].split() == ends
    assert ("secret_shown" in said) == ("secret_shown" in made)


def test_a_key_that_may_do_nothing_is_not_made(steadhold, server):
    assert "--scope" in steadhold("keys", "create", "svc", code=2).stderr
    assert server.requests == []


def test_keys_are_listed_and_shown(steadhold, server):
    server.then(
        reply(200, msgspec.json.encode({"items": [KEY], "next_cursor": None})), reply(200, msgspec.json.encode(KEY))
    )
    line = steadhold("keys", "ls", "-o", "table").stdout.splitlines()[1]
    assert line.split() == ["k" * 22, "svc", "service", "active", "state:read", "jobs:*", "-", "-"]
    assert told(steadhold("keys", "show", "k" * 22))["subject"] == "svc"


@pytest.mark.parametrize(
    "words, asked, body",
    [
        ("rotate K --grace-seconds 60", "POST /v1/keys/K/rotate", b'{"grace_seconds":60}'),
        ("revoke K", "POST /v1/keys/K/revoke", b""),
    ],
)
def test_a_key_is_changed(steadhold, server, words, asked, body):
    server.then(reply(200, msgspec.json.encode(KEY)))
    steadhold("keys", *words.split())
    assert (server.asked, server.last.content) == ([asked], body)


def test_a_workspace_is_made_by_an_operators_key(steadhold, server):
    server.then(reply(201, msgspec.json.encode(KEY | {"workspace": "acme", "key": "sh_live_secret"})))
    assert told(steadhold("workspaces", "create", "acme", "--subject", "anna"))["workspace"] == "acme"
    assert msgspec.json.decode(server.last.content) == {"name": "acme", "subject": "anna"}


def test_a_key_in_the_environment_chooses_the_server(steadhold, server):
    server.then(reply(200, b'{"items": [{"name": "acme"}], "next_cursor": null}'))
    result = steadhold("workspaces", "ls", STEADHOLD_DATABASE_URL="postgresql:///nowhere")
    assert told(result)["name"] == "acme"


def test_without_either_a_key_is_asked_for(steadhold):
    assert "Set STEADHOLD_API_KEY" in steadhold("workspaces", "ls", code=2).stderr


def test_a_workspace_is_made_at_the_database_once(steadhold, fresh_database):
    at = {"STEADHOLD_DATABASE_URL": fresh_database.dsn}
    made = told(steadhold("workspaces", "create", "acme", **at))
    token = access.parse_token(made["key"])
    assert (token.env, token.key_id) == ("live", made["key_id"])
    assert "There is a workspace 'acme' already" in steadhold("workspaces", "create", "acme", **at, code=3).stderr
    assert told(steadhold("workspaces", "ls", **at))["name"] == "acme"


def test_a_name_that_no_workspace_can_have_is_refused(steadhold, fresh_database):
    said = steadhold("workspaces", "create", "A/B", "--database-url", fresh_database.dsn, code=2).stderr
    assert "a-z, 0-9 and -" in said


def test_what_no_server_is_asked_is_named_by_no_key(steadhold):
    at = ["--database-url", "postgresql:///nowhere", "--idempotency-key", "k"]
    assert "--idempotency-key is for a server" in steadhold("workspaces", "create", "acme", *at, code=2).stderr


def test_an_operators_key_is_made_at_the_database(steadhold, fresh_database):
    made = told(steadhold("keys", "create", "ops", "--operator", "--database-url", fresh_database.dsn))
    assert (made["kind"], made["scopes"]) == ("operator", ["*:*"])
    assert access.parse_token(made["key"]).key_id == made["key_id"]


def test_what_the_server_refuses_is_told(steadhold, server):
    server.then(problem(403, "exceeds_maker"))
    assert "[exceeds_maker]" in steadhold("keys", "create", "svc", "--scope", "*:*", code=7).stderr
