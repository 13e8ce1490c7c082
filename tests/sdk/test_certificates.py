"""No key goes to who cannot show that he is the server: however the address spells its scheme."""

from __future__ import annotations

import asyncio
import socketserver
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.errors import Unreachable
from steadhold.sdk.retry import Patience

BEGAN = datetime(2020, 1, 1, tzinfo=UTC)


def certificate(at):
    """A certificate of this machine that nobody vouches for, and its key, in one file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, BEGAN, BEGAN + timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    at.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return at


class Answering(socketserver.StreamRequestHandler):
    def setup(self):
        try:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        except OSError as error:
            self.server.seen.append(type(error))
        super().setup()

    def handle(self):
        if isinstance(self.request, ssl.SSLSocket):
            self.server.seen.append(self.rfile.readline())
            self.wfile.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")


@pytest.fixture
def unvouched(tmp_path):
    """A server of TLS that nobody vouches for; `seen` is what it was sent, or why it was not."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate(tmp_path / "here.pem"))
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        server.tls, server.seen, server.block_on_close = tls, [], True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def blocking(url):
    with Client(url, "sh_x", patience=Patience(0)) as client:
        client.state.get("a")


async def on_a_loop(url):
    async with AsyncClient(url, "sh_x", patience=Patience(0)) as client:
        await client.state.get("a")


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "Https"])
@pytest.mark.parametrize("ask", [blocking, lambda url: asyncio.run(on_a_loop(url))], ids=["blocking", "asyncio"])
def test_no_key_is_sent_to_a_server_that_nobody_vouches_for(unvouched, ask, scheme):
    with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        ask(f"{scheme}://127.0.0.1:{unvouched.server_address[1]}")
    unvouched.shutdown()
    unvouched.server_close()
    assert [each for each in unvouched.seen if isinstance(each, bytes)] == []
    assert unvouched.seen


def test_who_says_http_speaks_no_tls(unvouched):
    url = f"HTTP://127.0.0.1:{unvouched.server_address[1]}"
    with Client(url, "sh_x", patience=Patience(0)) as client, pytest.raises(Unreachable):
        client.state.get("a")
    assert client.url == url.replace("HTTP", "http")
