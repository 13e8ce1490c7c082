"""`import steadhold` costs nothing, and gives what it promises when it is asked for."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import steadhold
from steadhold import sdk


def imported(line):
    """The modules that a fresh Python has loaded after a line."""
    code = f"{line}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_package_alone_brings_nothing():
    assert not imported("import steadhold") & {"httpx2", "msgspec", "asyncio", "steadhold.sdk"}


def test_errors_alone_bring_no_http():
    loaded = imported("from steadhold import OutcomeUnknown, Problem")
    assert "steadhold.sdk.errors" in loaded
    assert "httpx2" not in loaded


def test_a_room_is_for_ones_own_transactions():
    loaded = imported("from steadhold import state; assert state.put.plan")
    assert "steadhold.state.plans" in loaded
    assert not loaded & {"httpx2", "asyncpg", "psycopg", "starlette", "steadhold.sdk.client"}


@pytest.mark.parametrize("package", [steadhold, sdk])
def test_all_that_is_promised_is_there(package):
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert set(sdk.__all__) < set(steadhold.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = package.nonsense


def test_verbs_show_their_arguments_and_promises():
    client = sdk.Client("http://test", "sh_x")
    assert list(inspect.signature(client.state.put).parameters)[:3] == ["name", "value", "raw"]
    assert inspect.getdoc(client.state.put).startswith("Replace revision")
    assert client.state.put.__name__ == "put"


ROOMS = {name: room for name, room in vars(sdk.Client("http://test", "sh_x")).items() if hasattr(room, "player")}


@pytest.mark.parametrize("room", ROOMS)
def test_every_verb_says_what_it_promises(room):
    verbs = [name for name in dir(type(ROOMS[room])) if not name.startswith("_")]
    assert verbs
    for name in verbs:
        assert inspect.getdoc(getattr(ROOMS[room], name)), f"{room}.{name}"
