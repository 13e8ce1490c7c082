"""What `steadhold dev` decides before anything is started; the rest is a journey."""

from __future__ import annotations

import socket
import stat

import pytest

from steadhold import access
from steadhold.cli.dev import _settings, banner
from steadhold.cli.dev_key import imported, kept
from steadhold.cli.exits import Said


def test_a_folder_keeps_its_key(tmp_path):
    file = tmp_path / "api_key"
    token = kept(file)
    assert access.parse_token(file.read_text().strip()) == token == kept(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token.env == "dev"
    assert list(tmp_path.iterdir()) == [file]


def test_a_key_that_others_could_read_is_closed(tmp_path):
    file = tmp_path / "api_key"
    kept(file)
    file.chmod(0o644)
    kept(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_start_that_was_cut_off_leaves_nothing_in_the_way(tmp_path):
    (tmp_path / "api_key.new").write_text("sh_dev_ha")
    assert kept(tmp_path / "api_key").text.startswith("sh_dev_")


def test_a_file_that_holds_no_key_is_told_so(tmp_path):
    (tmp_path / "api_key").write_text("sh_dev_mistyped\n")
    with pytest.raises(Said, match="holds no key"):
        kept(tmp_path / "api_key")


async def test_a_key_is_imported_as_often_as_one_likes(fresh_database, tmp_path):
    texts = [await imported(fresh_database.dsn, tmp_path / "api_key") for _ in range(2)]
    assert texts[0] == texts[1] == (tmp_path / "api_key").read_text().strip()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost", "LOCALHOST"])
def test_loopback_is_served(tmp_path, host):
    found = _settings({"host": host, "data_dir": str(tmp_path)}, None)
    assert {"localhost", "127.0.0.1", "[::1]", host.lower()} == set(found.hosts)
    assert (found.database_url, found.log_format) == ("", "text")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_nothing_else_is(tmp_path, host):
    with pytest.raises(Said, match="is no loopback address") as told:
        _settings({"host": host, "data_dir": str(tmp_path)}, None)
    assert "steadhold serve" in told.value.next


def test_a_port_that_is_taken_is_told_before_anything_is_made(tmp_path, steadhold):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = steadhold("dev", "--port", taken.getsockname()[1], "--data-dir", tmp_path / "new", code=1).stderr
    assert "Cannot listen on 127.0.0.1:" in said
    assert "--port 0" in said
    assert list(tmp_path.iterdir()) == []


def test_a_data_folder_that_cannot_be_had_is_told(tmp_path, steadhold):
    (tmp_path / "file").write_text("")
    said = steadhold("dev", "--port", 0, "--data-dir", tmp_path / "file", code=1).stderr
    assert f"The data folder {tmp_path / 'file'} cannot be used" in said
    assert "--data-dir" in said.partition("Next: ")[2]


def test_the_environment_is_heard_save_where_its_own_database_is_concerned(monkeypatch, tmp_path):
    monkeypatch.setenv("STEADHOLD_DATABASE_URL", "postgresql:///prod")
    monkeypatch.setenv("STEADHOLD_LOG_FORMAT", "json")
    monkeypatch.setenv("STEADHOLD_DATA_DIR", str(tmp_path))
    found = _settings({}, None)
    assert (found.database_url, found.log_format, found.data_dir) == ("", "json", str(tmp_path))


def test_the_banner_says_where_to_look_next():
    said = banner("http://127.0.0.1:8750", "sh_dev_x", "/srv/dev", "postgresql://u@/d?host=/h")
    assert "sh_dev_x" in said
    assert "export STEADHOLD_API_KEY=$(cat /srv/dev/api_key)" in said
    assert "  database  postgresql://u@/d?host=/h\n" in said
    assert "STEADHOLD_URL" not in said
    assert "export STEADHOLD_URL=http://127.0.0.1:9\n" in banner("http://127.0.0.1:9", "k", "/d", "postgresql:///d")
