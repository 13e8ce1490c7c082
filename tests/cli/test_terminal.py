"""What others stored is shown on a terminal where that does not obey it; whatever else gets the bytes as they are."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from pathlib import Path

import click.testing
import msgspec
import pytest

import steadhold.cli
from steadhold.cli.exits import Said
from steadhold.cli.show import Out, raw
from tests.cli.conftest import reply

COMMANDS = ["state get a", "jobs result j", "jobs input j", "context get a", "context resolve r", "context export a"]
"""Those that print bytes of others."""
OBEYED = [b"\x00\xff", b"fine\n\x1b[2J", b"fine\rover\n", b"\xc3(", b'"\xc2\x9b31m"', '"\u202etxt.exe"'.encode()]
SHOWN = [b"a\tb\r\n", "é, \u00a0 and \U0001f469\u200d\U0001f4bb\n".encode()]


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)


def stored(data):
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return reply(200, data, revision=1, content_type="application/octet-stream", repr_digest=f"sha-256=:{digest}:")


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("data", OBEYED)
def test_what_a_terminal_would_act_on_is_not_written_to_one(steadhold, server, terminal, words, data):
    server.then(stored(data))
    result = steadhold(*words.split(), code=1)
    assert result.stdout_bytes == b""
    assert "no text that a terminal could show" in result.stderr
    assert "`> FILE`" in result.stderr


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("data", SHOWN)
def test_text_is_written_to_a_terminal_as_it_is(steadhold, server, terminal, words, data):
    server.then(stored(data))
    assert steadhold(*words.split()).stdout_bytes == data


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("data", OBEYED)
def test_whatever_else_gets_the_bytes(steadhold, server, words, data):
    server.then(stored(data))
    assert steadhold(*words.split()).stdout_bytes == data


def test_a_prompt_begins_a_line_of_its_own(steadhold, server, terminal):
    server.then(stored(b"1"))
    assert steadhold("state", "get", "a").stdout == "1\n"


@pytest.mark.parametrize("pieces", [[b"fine\n", b"\x1b[2J"], [b"\xc3", b"("], [b"\xc2", b"\x9b"], [b"a\r", b"b"]])
def test_what_comes_in_pieces_is_shown_up_to_the_first_that_is_no_text(monkeypatch, pieces):
    with click.testing.CliRunner().isolation() as (out, *_):
        monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
        with pytest.raises(Said, match="no text that a terminal could show"):
            raw(pieces)
        assert out.getvalue().rstrip(b"\n") == pieces[0].rstrip(b"\n")


@pytest.mark.parametrize("pieces", [[b"a\r", b"\nb"], [b"a\r", b"", b"\n"], [b"a\r"]])
def test_the_end_of_a_line_may_come_in_pieces(monkeypatch, pieces):
    with click.testing.CliRunner().isolation() as (out, *_):
        monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
        raw(pieces)
        assert out.getvalue().rstrip(b"\n") == b"".join(pieces).rstrip(b"\n")


@pytest.mark.parametrize("say", [lambda out, item: out.one(item), lambda out, item: out.many([item], ()),
                                 lambda out, item: out.each(item, ())])  # fmt: skip
def test_json_on_a_terminal_says_the_same_without_what_that_would_obey(monkeypatch, say):
    said = {"type": "\u009b31m", "data": msgspec.Raw('"\u202e\u007f\\u001b"'.encode())}
    with click.testing.CliRunner().isolation() as (out, *_):
        monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
        say(Out("json"), said)
        shown = out.getvalue()
    assert shown == b'{"type":"\\u009b31m","data":"\\u202e\\u007f\\u001b"}\n'


def test_json_that_is_read_by_a_program_has_the_bytes(steadhold, server):
    data = '"\u009b\u202e"'.encode()
    server.then(stored(data))
    assert data in steadhold("state", "watch", "a", "--count", "1").stdout_bytes


def test_what_nobody_foresaw_is_told_without_it(tmp_path):
    (tmp_path / "evil.py").write_text('raise RuntimeError("a\\x1b[31mRED\\x07")')
    code = "import sys; sys.argv = ['steadhold', 'work', 'evil:worker']; from steadhold.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.decode().startswith("Traceback (most recent call last):\n")
    assert ran.stderr.decode().endswith("RuntimeError: a\ufffd[31mRED\ufffd\n")


def test_bytes_leave_by_one_door():
    files = Path(steadhold.cli.__file__).parent.glob("*.py")
    assert [file.name for file in files if "stdout.buffer" in file.read_text(encoding="utf-8")] == ["show.py"]
