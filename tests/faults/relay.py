"""A relay for any protocol that can fall silent: nothing passes any more, and nobody is told. A cut network."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from urllib.parse import urlsplit


class Relay:
    """Listens on the loopback interface and passes on to `url`; `.url` is the same server through it."""

    def __init__(self, url):
        self._to = (urlsplit(url).hostname, urlsplit(url).port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._silent, self._links = threading.Event(), []
        threading.Thread(target=self._accept, daemon=True).start()

    def fall_silent(self):
        """From now on nothing passes, in either direction."""
        self._silent.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._to)
                self._links += [client, server]
                threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client, server):
        other = {client: server, server: client}
        with contextlib.suppress(OSError, ValueError):
            while not self._silent.is_set():
                for side in select.select([client, server], [], [], 0.05)[0]:
                    data = side.recv(65_536)
                    if not data:
                        other[side].shutdown(socket.SHUT_WR)
                        return
                    if not self._silent.is_set():
                        other[side].sendall(data)

    def close(self):
        self._silent.set()
        for each in (self._listener, *self._links):
            each.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
