"""A process is begun: on a machine without room for it, in a folder with modules of its own, at a full PostgreSQL."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys

import asyncpg
import pytest

from steadhold.server.processes import child as children
from steadhold.server.processes import parent as parents
from steadhold.server.processes.parent import Child, EndedEarly, Parent
from steadhold.server.settings import Settings


def refusing(*errors: Exception) -> Parent:
    """A parent on a machine that has no room for a process, for these reasons, and is told to stop after them."""
    left = [*errors]

    async def begin(_settings: Settings) -> Child:
        error = left.pop(0)
        if not left:
            parent.stop()
        raise error

    parent = Parent(Settings(processes=1), lambda _url: None, begin)
    parent.left = left
    return parent


FULL = OSError(24, "Too many open files")


async def test_a_machine_without_room_for_a_process_is_asked_again(monkeypatch):
    monkeypatch.setattr(parents, "PAUSE_FIRST_SECONDS", 0.0)
    parent = refusing(FULL, RuntimeError("can't start new thread"), FULL)
    parent._served = True
    async with asyncio.timeout(20):
        await parent.run()
    assert parent.left == []


async def test_a_machine_without_room_for_the_first_is_told_as_what_it_is():
    with pytest.raises(EndedEarly, match=r"cannot be started: Too many open files\."):
        async with asyncio.timeout(20):
            await refusing(FULL, FULL).run()


async def test_a_process_takes_no_module_from_the_folder_in_which_the_command_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    (tmp_path / "steadhold.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        child = await Child.begin(Settings(listen_fd=listener.fileno(), database_url="postgresql://127.0.0.1:1/x"))
        await child.end()
        async with asyncio.timeout(60):
            assert await child.process.wait() == -signal.SIGTERM


def test_what_keeps_a_process_from_serving_is_one_line(monkeypatch, caplog):
    async def live(_fd: int) -> None:
        raise asyncpg.TooManyConnectionsError("too many connections")

    monkeypatch.setattr(children, "live", live)
    monkeypatch.setattr(children.life, "end_with_parent", lambda: None)
    monkeypatch.setattr(sys, "argv", ["child", "0"])
    with pytest.raises(SystemExit, match="1"):
        children.main()
    (record,) = caplog.records
    assert "why=TooManyConnectionsError: too many connections" in record.getMessage()
