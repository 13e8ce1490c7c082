"""How large a message is, is hidden within its seal, and nothing but what was put there comes out."""

from __future__ import annotations

import pytest

from steadhold.envelopes import EnvelopeRefused, Keyring, padded, unpadded
from steadhold.envelopes.padding import LEAST, STEP
from steadhold.kit.sealed import seal_of
from steadhold.sdk import Client
from tests.sdk.site import key, site  # noqa: F401 - fixtures

KIND = "text/plain; charset=utf-8"


@pytest.mark.parametrize("count", [0, 1, 200, 221, 222, 4_000, STEP - 100, STEP, STEP + 1, 3 * STEP - 1])
def test_what_is_padded_comes_out_as_it_was(count):
    data = bytes(n % 251 for n in range(count))
    whole = padded(data, KIND)
    assert unpadded(whole) == (data, KIND)
    assert len(whole) >= LEAST
    assert len(whole) % STEP == 0 or len(whole).bit_count() == 1


def test_sizes_are_few():
    assert {len(padded(b"x" * n, KIND)) for n in range(4_000)} == {256, 512, 1_024, 2_048, 4_096}
    assert len(padded(b"x" * (STEP + 1), KIND)) == 2 * STEP


def test_what_is_not_padded_so_is_refused():
    whole = padded(b"data", KIND)
    longer, marked = whole + b"\0", whole[:-1] + b"x"
    for wrong in (b"", whole[:-1], longer, marked, b"\xff" * 256, whole.replace(b"text", b"\xff" * 4), bytes(255)):
        with pytest.raises(EnvelopeRefused, match="not padded"):
            unpadded(wrong)


@pytest.fixture
def client(site, key):  # noqa: F811
    with Client(site.url, key.key) as made:
        for kind in ("state", "context"):
            made.prefixes.make(kind, "p")
        yield made


def test_names_of_unlike_sizes_look_alike(client):
    keyring = Keyring.generate()
    hidden = client.private(keyring, pad=True)
    for n in range(3):
        hidden.context.write(f"p/{n}", "x" * 60 * n, if_revision=None)
        hidden.state.create(f"p/{n}", "x" * 60 * n)
    assert len({found.bytes for found in client.context.files("p")}) == 1
    assert len({found.bytes for found in client.state.names("p")}) == 1
    assert seal_of(client.context.read("p/1").body).bound.content_type == "application/vnd.steadhold.padded"
    plain = client.private(keyring)
    assert (plain.context.read("p/1").text, plain.context.read("p/1").content_type) == ("x" * 60, KIND)
    assert plain.state.get("p/2").value == "x" * 120
    plain.state.update("p/2", lambda value: value + "y")
    assert hidden.state.get("p/2").value == "x" * 120 + "y"


def test_a_padded_file_is_no_value(client):
    """Whoever holds the key is held to what was sealed as well: state is JSON."""
    keyring = Keyring.generate()
    hidden = client.private(keyring, pad=True)
    hidden.state.create("p/a", 1)
    vault = hidden.state.vault
    client.play(vault.put("state", "p/b", b"1", "text/plain", expected=None))
    with pytest.raises(EnvelopeRefused, match="It holds 'text/plain'"):
        hidden.state.get("p/b")


def test_what_is_rewrapped_keeps_its_content_type(client):
    keyring = Keyring.generate()
    client.private(keyring, pad=True).context.write("p/a", b"x", if_revision=None, content_type="image/png")
    newer = client.private(keyring.rotated(), pad=True)
    assert newer.context.rewrap("p/a") is True
    found = newer.context.read("p/a")
    assert (found.body, found.content_type, found.revision) == (b"x", "image/png", 2)
