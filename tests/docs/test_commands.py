"""Every command that a page shows is one that there is, with arguments that it takes."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from steadhold.cli.program import program as main
from tests.docs.blocks import named, of

TYPED = re.compile(r"^\$ (?!\w+=(?:\$\(|'))((?:.*\\\n)*.*)$", re.MULTILINE)
SET = re.compile(r"\w+=")
APART = re.compile(r"&&|\|\||[|&;]")
OTHERS = {"curl", "export", "head", "make", "npx", "pg_dump", "pg_restore", "pip", "psql", "python", "sqlite3"}
"""What is typed beside our own command."""
BLOCKS = of("console")


def typed(text):
    """The commands of a block, each as its words."""
    for line in TYPED.findall(text):
        words = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="|&;>")
        words.whitespace_split, words.commenters = True, "#"
        command: list[str] = []
        for word in words:
            if not command and SET.match(word):
                continue
            if word == ">":
                next(words)
            elif APART.fullmatch(word):
                yield command
                command = []
            else:
                command.append(word)
        if command:
            yield command


def parsed(command, name, words):
    """Parse a command's words as click does, and do nothing with them."""
    with command.make_context(name, list(words)) as context:
        if isinstance(command, click.Group):
            name, below, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            parsed(below, name, rest)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for file in ("plan.json", "release.json", "archive.tar", "seen", "build.tar"):
        (tmp_path / file).write_text("{}")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("block", BLOCKS, ids=named)
def test_the_commands_of_a_block_are_there(block, folder):
    commands = list(typed(block.text))
    assert commands
    for program, *words in commands:
        if program == "steadhold":
            parsed(main, program, words)
        else:
            assert program in OTHERS or program.startswith("./"), program


def test_a_line_is_read_as_its_commands():
    text = "$ steadhold a \\\n  --b 'c d'   # e\nprinted\n$ X=1 f > l && ./g | h &\n$ Y=$(i | j)\n$ Z='k'\n"
    assert list(typed(text)) == [["steadhold", "a", "--b", "c d"], ["f"], ["./g"], ["h"]]


@pytest.mark.parametrize("words", [["state", "pit", "a", "1"], ["state", "put", "a", "1", "--creates"], ["jobs"]])
def test_what_is_no_command_is_found(words):
    with pytest.raises((click.UsageError, click.exceptions.Exit)):
        parsed(main, "steadhold", words)
