"""A small HTTP server on a real socket, and fixtures of it."""

from __future__ import annotations

import socketserver
import threading
from http.server import BaseHTTPRequestHandler

import pytest


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b"1"

    def do_GET(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.client_address, self.path, headers))
        self.send_response(200)
        self.send_header("content-length", str(len(self.body)))
        self.send_header("revision", "1")
        self.end_headers()
        self.wfile.write(self.body)

    def do_PUT(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def log_message(self, *_):
        pass

    def address_string(self):
        return "local"


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def running(server):
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def tcp():
    yield from running(Tcp(("127.0.0.1", 0), Handler))


@pytest.fixture
def unix(tmp_path):
    yield from running(Unix(str(tmp_path / "s"), Handler))


@pytest.fixture
def url(tcp):
    return f"http://127.0.0.1:{tcp.server_address[1]}"
