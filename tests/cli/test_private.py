"""`steadhold private`, `keyring` and `keys rewrap`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from steadhold.cli.program import program
from steadhold.envelopes import Keyring
from steadhold.sdk import Client
from tests.sdk.site import key, site  # noqa: F401 - fixtures


@pytest.fixture
def run(site, key, monkeypatch):  # noqa: F811 - fixtures
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)

    def ran(*words):
        return CliRunner().invoke(program, [str(word) for word in words], catch_exceptions=False)

    return ran


@pytest.fixture
def file(tmp_path):
    return tmp_path / "keys.json"


def test_a_prefix_is_made_listed_and_lifted(run):
    made = json.loads(run("private", "make", "state", "secret").stdout)
    assert [json.loads(line) for line in run("private", "ls", "state").stdout.splitlines()] == [made]
    assert run("private", "lift", "state", "secret", "--if-match", made["revision"] + 1).exit_code == 3
    assert run("private", "lift", "state", "secret", "--if-match", made["revision"]).exit_code == 0
    assert run("private", "ls", "state").stdout == ""
    assert run("state", "put", "open/a", "1", "--create").exit_code == 0
    assert run("private", "make", "state", "open").exit_code == 3


def test_a_keyring_is_made_rotated_and_never_written_over(run, file):
    first = json.loads(run("keyring", "new", file).stdout)
    assert first["decrypt_only"] == []
    assert run("keyring", "new", file).exit_code == 2
    second = json.loads(run("keyring", "rotate", file).stdout)
    assert (second["primary"] != first["primary"], second["decrypt_only"]) == (True, [first["primary"]])
    assert json.loads(run("keyring", "show", file).stdout) == second
    assert run("keyring", "forget", file, second["primary"]).exit_code == 2
    assert run("keyring", "forget", file, "none").exit_code == 2
    assert json.loads(run("keyring", "forget", file, first["primary"]).stdout)["decrypt_only"] == []
    file.chmod(0o644)
    refused = run("keyring", "show", file)
    assert (refused.exit_code, "chmod 600" in refused.stderr) == (2, True)


def test_names_are_sealed_anew_and_what_cannot_be_opened_is_named(run, file, site, key):  # noqa: F811
    run("keyring", "new", file)
    old = Keyring.load(file)
    with Client(site.url, key.key) as client:
        client.prefixes.make("state", "secret")
        for n in range(3):
            client.private(old).state.create(f"secret/{n}", n)
        run("keyring", "rotate", file)
        told = run("keys", "rewrap", "secret", "--keyring", file)
        assert json.loads(told.stdout) == {"prefix": "secret", "seen": 3, "rewrapped": 3, "refused": []}
        assert json.loads(run("keys", "rewrap", "secret", "--keyring", file).stdout)["rewrapped"] == 0
        client.private(Keyring.generate()).state.create("secret/3", 3)
        told = run("keys", "rewrap", "secret", "--keyring", file)
        assert (told.exit_code, json.loads(told.stdout)["refused"]) == (1, ["secret/3"])
        assert "is not in the keyring" in told.stderr
        new = Keyring.load(file).without(old.primary.kid)
        assert [client.private(new).state.get(f"secret/{n}").value for n in range(3)] == [0, 1, 2]


def test_what_cannot_be_written_is_named_and_the_rest_goes_on(run, file, site, key):  # noqa: F811
    """Of a prefix that was lifted, and made again below: what lies outside takes no envelope any more."""
    run("keyring", "new", file)
    old = Keyring.load(file)
    with Client(site.url, key.key) as client:
        made = client.prefixes.make("state", "secret")
        for name in ("secret/a", "secret/b", "secret/c/d"):
            client.private(old).state.create(name, 1)
        client.prefixes.lift("state", "secret", if_revision=made.revision)
        client.prefixes.make("state", "secret/c")
        run("keyring", "rotate", file)
        told = run("keys", "rewrap", "secret", "--keyring", file)
        assert told.exit_code == 1
        assert json.loads(told.stdout) == {
            "prefix": "secret", "seen": 3, "rewrapped": 1, "refused": ["secret/a", "secret/b"]
        }  # fmt: skip
        assert "secret/a: 422 not_private: No private prefix covers this name" in told.stderr
