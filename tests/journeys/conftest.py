from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.journeys.browser import axe, busy_site, chromium, people, person, scripted, site
from tests.journeys.programs import USERS, Program, User, normal_user

__all__ = ["axe", "busy_site", "chromium", "people", "person", "scripted", "site"]


@pytest.fixture(scope="session")
def users():
    """Whom processes can run as, by name; a normal user's Python is made when it is first asked for."""
    with ExitStack() as stack:
        made = {"me": User()}

        def user(name):
            if name not in made:
                made[name] = stack.enter_context(normal_user())
            return made[name]

        yield user


@pytest.fixture(params=USERS)
def user(request, users):
    """Each user that there is to run as."""
    return users(request.param)


@pytest.fixture
def me(users):
    return users("me")


@pytest.fixture
def folder():
    """A folder that everybody can enter, as pytest's own is not."""
    made = Path(tempfile.mkdtemp(prefix="steadhold-journey-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def start(folder):
    """Start a `steadhold` process; it is gone after the test."""
    begun = []

    def started(*words, user, **popen):
        program = Program(*map(str, words), user=user, log=folder / "log", **popen)
        begun.append(program)
        return program

    yield started
    for program in begun:
        program.close()


@pytest.fixture
def dev(folder, start):
    """Start `steadhold dev` on the test's folder and wait for it: the process, and the line it prints."""

    def started(user, data="data"):
        home = folder / data
        if not home.exists():
            home.mkdir()
            user.own(home)
        program = start("dev", "--json", "--data-dir", home, "--port", "0", user=user)
        program.told = program.line()
        return program

    return started


@pytest.fixture
def ask():
    """Run a command against a server: its standard output, once it has ended with `code`."""

    def run(told, *words, input=b"", code=0, user=None):
        user = user or User()
        environ = {**user.environ, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        if told is not None:
            environ |= {"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": told["api_key"]}
        ran = subprocess.run(
            [user.python, "-m", "steadhold", *map(str, words)],
            input=input,
            capture_output=True,
            check=False,
            cwd="/",
            env=environ,
            **user.switch,
        )
        assert ran.returncode == code, ran.stderr.decode()
        return ran.stdout if code == 0 else ran.stdout + ran.stderr

    return run
