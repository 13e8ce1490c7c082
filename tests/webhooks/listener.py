"""A receiver in a thread, for tests that are not asynchronous."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """Keeps what comes, and answers with a status."""

    def __init__(self):
        self.seen, self.status, self.arrived = [], 200, threading.Condition()
        kept = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with kept.arrived:
                    kept.seen.append((list(self.headers.items()), body))
                    kept.arrived.notify_all()
                self.send_response(kept.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def some(self, count):
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.seen) >= count, 30)
        return self.seen


@contextmanager
def listening():
    found = Receiver()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()
