"""A NATS server with JetStream, in a process of its own."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from pathlib import Path

from nats.aio.client import Client

PROGRAM = Path(sys.executable).with_name("nats-server")


class Nats:
    """The server; it keeps its port and its folder over a death."""

    def __init__(self, folder, **limits):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.folder, self.process = folder, None
        self.url = f"nats://127.0.0.1:{self.port}"

    async def start(self):
        """Let it run, and wait until it takes connections."""
        command = [PROGRAM, "-a", "127.0.0.1", "-p", f"{self.port}", "-js", "-sd", f"{self.folder}"]
        self.process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        async with asyncio.timeout(30):
            while b"Server is ready" not in (line := await self.process.stderr.readline()):
                assert line, "the server ended before it was ready"

    async def kill(self):
        """End it as a crash does."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()

    def stop(self):
        """Let it fall silent: connections are taken, and nothing is answered."""
        self.process.send_signal(signal.SIGSTOP)

    async def client(self):
        """A connection, which the caller closes."""
        made = Client()
        await made.connect(self.url, allow_reconnect=False)
        return made

    async def add_stream(self, name, subjects, **settings):
        """Let a stream take subjects."""
        client = await self.client()
        await client.jetstream().add_stream(name=name, subjects=subjects, **settings)
        await client.close()

    async def messages(self, stream):
        """All that a stream holds, in order."""
        client = await self.client()
        context = client.jetstream()
        state = (await context.stream_info(stream)).state
        found = [await context.get_msg(stream, n) for n in range(max(1, state.first_seq), state.last_seq + 1)]
        await client.close()
        return found

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
        await self.kill()
