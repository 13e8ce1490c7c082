"""`steadhold migrate`, `doctor`, `restored`, `config`: at the database that settings name."""

from __future__ import annotations

import msgspec
import pytest

from steadhold.cli import database
from steadhold.cli.doctor import CODES
from steadhold.db import folder
from steadhold.db.doctor import Finding
from steadhold.db.migrate import files
from steadhold.server.settings import Settings, describe


def told(result):
    return msgspec.json.decode(result.stdout)


def test_what_stands_is_not_applied_again(steadhold, fresh_database):
    for words in (["--plan"], []):
        done = told(steadhold("migrate", *words, "--database-url", fresh_database.dsn))
        assert done == {"pending" if words else "applied": [], "before": len(files())}
        said = steadhold("migrate", *words, "-o", "table", "--database-url", fresh_database.dsn).stdout
        assert said == f"Nothing is pending: all {len(files())} migrations are applied.\n"


def test_a_restore_begins_an_incarnation(steadhold, fresh_database):
    at = {"STEADHOLD_DATABASE_URL": fresh_database.dsn}
    assert [told(steadhold("restored", **at))["incarnation"] for _ in range(2)] == [1, 2]


def test_the_doctor_tells_what_it_found(steadhold, fresh_database, monkeypatch):
    result = steadhold("doctor", "--database-url", fresh_database.dsn, code=1)  # tests run without fsync
    found = {line["check"]: line["level"] for line in map(msgspec.json.decode, result.stdout.splitlines())}
    assert (found["version"], found["migrations"], found["fsync"]) == ("ok", "ok", "refuse")


@pytest.mark.parametrize("level, code", CODES.items())
def test_the_doctors_exit_code_is_its_worst_finding(steadhold, monkeypatch, level, code):
    async def examine(dsn, *, connections, statements):
        assert (connections, statements) == (12, 1000)
        return (Finding("version", "ok", "Fine."), Finding("clock", level, "Look here."))

    monkeypatch.setattr("steadhold.db.doctor.examine", examine)
    said = steadhold("doctor", "--database-url", "postgresql:///x", "-o", "table", code=code).stdout
    assert said.splitlines()[0].split() == ["ok", "version", "Fine."]


@pytest.mark.parametrize("how", ["flag", "environment", "file"])
def test_the_doctor_is_told_of_prepared_statements(steadhold, monkeypatch, tmp_path, how):
    async def examine(dsn, *, connections, statements):
        return (Finding("pooler", "ok", f"{statements} are kept."),)

    monkeypatch.setattr("steadhold.db.doctor.examine", examine)
    (tmp_path / "s.toml").write_text("prepared_statements = 7\n")
    words = {"flag": ["--prepared-statements", "7"], "file": ["--config", tmp_path / "s.toml"]}.get(how, [])
    said = {"STEADHOLD_PREPARED_STATEMENTS": "7"} if how == "environment" else {}
    assert told(steadhold("doctor", "--database-url", "postgresql:///x", *words, **said))["says"] == "7 are kept."


def test_a_database_that_does_not_answer_is_told_so(steadhold, tmp_path):
    url = f"postgresql://x@/x?host={tmp_path}"
    assert "cannot be reached" in told(steadhold("doctor", "--database-url", url, code=1))["says"]
    said = steadhold("migrate", "--database-url", url, code=6).stderr
    assert said.startswith("Error: The database cannot be reached")
    assert "STEADHOLD_DATABASE_URL" in said


def test_no_database_is_told_so(steadhold, tmp_path):
    said = steadhold("migrate", "--data-dir", tmp_path / "none", code=1).stderr
    assert "There is no database in" in said
    assert "STEADHOLD_DATABASE_URL" in said


@pytest.mark.parametrize("named", [False, True])
def test_a_database_that_nobody_named_is_told(named, tmp_path, monkeypatch, capsys):
    (tmp_path / "postgres").mkdir()
    monkeypatch.setattr(folder, "default_data_dir", lambda: tmp_path)
    monkeypatch.setattr(database, "running", lambda _: "postgresql:///it")
    with database.reached(Settings(data_dir=str(tmp_path) if named else "")) as dsn:
        assert dsn == "postgresql:///it"
    assert (f"the one in {tmp_path}" in capsys.readouterr().err) is not named


def test_settings_are_shown_with_their_origins(steadhold, tmp_path):
    (tmp_path / "s.toml").write_text("pool_size = 3\n[retention]\nevents_seconds = 90_000\n")
    result = steadhold(
        *("config", "show", "--origin", "--config", tmp_path / "s.toml", "--port", "9", "--no-background"),
        STEADHOLD_DATABASE_URL="postgresql://u:secret@h/d",
    )
    shown = {
        line["name"]: (line["value"], line["origin"]) for line in map(msgspec.json.decode, result.stdout.splitlines())
    }
    assert shown.keys() == {setting["name"] for setting in describe()}
    assert shown["port"] == (9, "flag --port")
    assert shown["background"] == (False, "flag --background")
    assert shown["pool_size"] == (3, str(tmp_path / "s.toml"))
    assert shown["retention.events_seconds"] == (90_000, str(tmp_path / "s.toml"))
    assert shown["database_url"] == ("(secret)", "STEADHOLD_DATABASE_URL")
    assert shown["host"] == ("127.0.0.1", "default")
    assert "secret@" not in result.stdout


def test_origins_are_shown_when_asked_for(steadhold):
    assert "origin" not in told_lines(steadhold("config", "show"))[0]


@pytest.mark.parametrize(
    "words, said",
    [
        (["--port", "x"], "flag --port: port cannot be 'x'"),
        (["--pool-size", "1e1"], "flag --pool-size: pool_size cannot be '1e1': write a whole number of 1 to 16 plain"),
        (["--retention-receipts-seconds", "60"], "receipts_seconds"),
        (["--player", "duo"], "player cannot be 'duo'"),
    ],
)
def test_a_setting_that_cannot_be_is_a_usage_error(steadhold, words, said):
    assert said in steadhold("config", "show", *words, code=2).stderr


def told_lines(result):
    return [msgspec.json.decode(line) for line in result.stdout.splitlines()]
