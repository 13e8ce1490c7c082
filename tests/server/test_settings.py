"""Where settings come from, and what is said when one is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from steadhold.server import retention, sources
from steadhold.server.settings import Retention, Settings, describe
from steadhold.server.sources import SettingError, load, shown

DOCS = Path(__file__).parents[2] / "docs"


def test_flags_win_over_environment_over_file_over_defaults(tmp_path):
    file = tmp_path / "steadhold.toml"
    file.write_text('port = 1\nhost = "file"\npool_size = 3\nhosts = ["a", "b"]\n[retention]\njobs_seconds = 777_777\n')
    loaded = load({"port": 3, "host": None}, {"STEADHOLD_PORT": "2", "STEADHOLD_HOST": "environment"}, file)
    assert (loaded.settings.port, loaded.settings.host, loaded.settings.pool_size) == (3, "environment", 3)
    assert (loaded.settings.hosts, loaded.settings.retention.jobs_seconds) == (("a", "b"), 777_777)
    told = {name: origin for name, _, origin in shown(loaded)}
    assert told["port"] == "flag --port"
    assert told["host"] == "STEADHOLD_HOST"
    assert told["pool_size"] == told["retention.jobs_seconds"] == str(file)
    assert told["unix_socket"] == "default"


def test_the_file_is_named_by_the_environment(tmp_path):
    file = tmp_path / "steadhold.toml"
    file.write_text("port = 5\n")
    assert load(environ={"STEADHOLD_CONFIG": str(file)}).settings.port == 5


def test_a_secret_comes_from_a_file_and_is_not_shown(tmp_path):
    secret = tmp_path / "url"
    secret.write_text("postgresql://u:hunter2@h/d\n")
    loaded = load(environ={"STEADHOLD_DATABASE_URL_FILE": str(secret)})
    assert loaded.settings.database_url == "postgresql://u:hunter2@h/d"
    assert ("database_url", "(secret)", "STEADHOLD_DATABASE_URL_FILE") in shown(loaded)
    assert "hunter2" not in str(shown(loaded))
    file = tmp_path / "steadhold.toml"
    file.write_text(f'database_url_file = "{secret}"\n')
    assert load(file=file).settings.database_url == "postgresql://u:hunter2@h/d"


@pytest.mark.parametrize(
    "environ,text,words",
    [
        ({"STEADHOLD_PORT": "http"}, "", ["STEADHOLD_PORT", "port", "'http'"]),
        ({"STEADHOLD_PORT": "70000"}, "", ["STEADHOLD_PORT", "65535"]),
        ({"STEADHOLD_BACKGROUND": "perhaps"}, "", ["STEADHOLD_BACKGROUND"]),
        ({"STEADHOLD_LOCK_TIMEOUT_MS": "5001"}, "", ["lock_timeout_ms", "5000"]),
        ({}, "[retention]\ndedupe_seconds = 864000", ["steadhold.toml", "'retention.dedupe_seconds'"]),
        ({}, "prot = 1", ["steadhold.toml", "'prot'", "Did you mean 'port'?"]),
        ({}, "[retention]\nreceipt_seconds = 1", ["Did you mean 'retention.receipts_seconds'?"]),
        ({}, "port = ", ["steadhold.toml", "TOML"]),
        ({}, "port = 1\nhost = 3", ["steadhold.toml", "host"]),
        ({}, 'port = "1"', ["steadhold.toml", "port cannot be '1'", "without quotes"]),
        ({}, 'background = "true"', ["steadhold.toml", "background cannot be 'true'"]),
        ({}, "port = 1e1", ["steadhold.toml", "port"]),
        ({}, '[retention]\njobs_seconds = "2592000"', ["jobs_seconds cannot be '2592000'", "without quotes"]),
        ({"STEADHOLD_DATABASE_URL": "a", "STEADHOLD_DATABASE_URL_FILE": "b"}, "", ["both set"]),
        ({"STEADHOLD_DATABASE_URL_FILE": "/nowhere"}, "", ["/nowhere", "cannot be read"]),
    ],
)
def test_a_wrong_setting_says_which_where_and_what_to_do(tmp_path, environ, text, words):
    file = tmp_path / "steadhold.toml"
    file.write_text(text)
    with pytest.raises(SettingError) as error:
        load(environ=environ, file=file)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize("typed", ["1e1", "10.0", "1_0", "+10", " 10", "10 ", "0x0a", "٣", "", "1" * 17])
@pytest.mark.parametrize("name", ["pool_size", "retention.jobs_seconds"])
def test_numbers_are_typed_in_plain_digits(name, typed):
    """As everywhere on the command line: none is taken for another than was meant."""
    for said in ({"flags": {name: typed}}, {"environ": {sources.variable(name): typed}}):
        with pytest.raises(SettingError, match=f"{name.rpartition('.')[2]} cannot be .*plain digits, as in 12"):
            load(**said)


def test_a_number_that_is_typed_is_bounded_like_any_other():
    assert load({"pool_size": "010", "listen_fd": "-1"}).settings.pool_size == 10
    with pytest.raises(SettingError, match=">= 2"):
        load({"pool_size": "-10"})


def test_a_settings_file_that_is_missing_is_said():
    with pytest.raises(SettingError, match="No such file"):
        load(file=Path("/nowhere/steadhold.toml"))


def test_settings_are_frozen():
    with pytest.raises(AttributeError):
        Settings().port = 1


@pytest.mark.parametrize("order", retention.ORDERS, ids=lambda order: order.longer)
def test_windows_that_break_an_order_are_refused_with_both_numbers(order):
    need = sum(retention.seconds(Retention(), name) for name in order.shorter)
    with pytest.raises(retention.OrderBroken) as error:
        load({f"retention.{order.longer}": need - 1})
    assert str(need) in str(error.value)
    assert str(need - 1) in str(error.value)
    loaded = load({f"retention.{order.longer}": need})
    assert getattr(loaded.settings.retention, order.longer) == need


def test_the_page_of_settings_has_each_with_its_default():
    page = (DOCS / "settings.md").read_text()
    for setting in describe():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{setting['name']}` |"))
        default = setting["default"]
        if isinstance(default, int) and default >= 86_400:
            assert f"{default // 86_400} days" in row
        elif isinstance(default, bool | int):
            assert str(default).lower() in row
        elif default and isinstance(default, str):
            assert f"`{default}`" in row
        assert sources.variable(setting["name"]).startswith("STEADHOLD_")
