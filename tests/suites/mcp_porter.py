"""Stands before a server and gives each message a key: the conformance kit knows no way to send one."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

HANDED_ON = (
    "host",
    "origin",
    "accept",
    "content-type",
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
)


@contextmanager
def porter(url, key):
    """The address of one."""

    class Porter(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            fields = {name: self.headers[name] for name in HANDED_ON if name in self.headers}
            with httpx2.Client(trust_env=False, timeout=60) as http:
                headers = {**fields, "authorization": f"Bearer {key}"}
                answer = http.request(self.command, f"{url}{self.path}", content=body, headers=headers)
            self.send_response(answer.status_code)
            for name in ("content-type", "allow", "mcp-session-id"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_DELETE = do_POST  # noqa: N815 - names of http.server

        def log_message(self, *_):
            """It is quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Porter)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
