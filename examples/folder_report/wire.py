"""A bad network, made on purpose: a relay on the loopback that cuts the line at the worst moments."""

from __future__ import annotations

import select
import socket
import struct
import threading
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import urlsplit

RESET: Final = struct.pack("ii", 1, 0)
RECEIVE_BYTES: Final = 1 << 16
Cut = Literal["before", "after"]


class Relay:
    """Passes one connection on to a server, and cuts it `before` the request arrives there, or `after` the answer.

    An answer leaves the server only after its transaction has committed. So `after` is the case that matters:
    it happened, and the one who asked for it cannot know.
    """

    def __init__(self, server: str, cut: Cut) -> None:
        place = urlsplit(server)
        self._to, self._cut = (place.hostname or "", place.port or 80), cut
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listening.close()

    def _pass_on(self) -> None:
        client, _ = self._listening.accept()
        with client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            if self._cut == "before":
                client.recv(RECEIVE_BYTES)
                return
            with socket.create_connection(self._to) as server:
                while server not in select.select([client, server], [], [])[0]:
                    server.sendall(client.recv(RECEIVE_BYTES))
                server.recv(RECEIVE_BYTES)
