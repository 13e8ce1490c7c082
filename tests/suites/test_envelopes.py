"""Envelopes between languages: what is sealed here opens in JavaScript's `jose`, and the other way round."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey, RSAKey, import_key

from steadhold.envelopes import Bound, EnvelopeRefused, Key, Keyring, open_envelope, seal
from steadhold.envelopes.profile import PROFILE
from tests.suites import npm

HERE = Path(__file__).parent
PACKAGE = "jose@5.10.0"
VECTORS = json.loads((HERE / "envelopes" / "vectors.json").read_text(encoding="utf-8"))
BOUND = Bound(workspace="acme", kind="state", name="notes/é 1", content_type="application/json", revision=4294967297)


def text(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def raw(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.fixture(scope="module")
def jose(request):
    """What the package says to each request."""
    node = npm.node()
    entry = npm.modules(request.config, "jose", PACKAGE) / "jose" / "dist" / "node" / "esm" / "index.js"

    def said(*asked):
        done = subprocess.run(
            (node, HERE / "jose.mjs"), input="\n".join(map(json.dumps, asked)), env={**os.environ, "JOSE": str(entry)},
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return [json.loads(line) for line in done.stdout.splitlines()]

    return said


@pytest.mark.parametrize("data", [b"", b'{"n": 1.10}', bytes(range(256)) * 4096])
def test_what_is_sealed_here_opens_in_javascript(jose, data):
    keys = Keyring.generate()
    sealed, k = seal(keys, BOUND, data).decode(), text(keys.primary.secret)
    opened, cut = jose({"verb": "open", "k": k, "jwe": sealed}, {"verb": "open", "k": k, "jwe": sealed[:-3] + "AAA"})
    assert opened == {"data": text(data), "kid": keys.primary.kid, "ctx": msgspec.to_builtins(BOUND)}
    assert "refused" in cut


@pytest.mark.parametrize("data", [b"", b'{"n": 1.10}', bytes(range(256)) * 4096])
def test_what_javascript_seals_opens_here(jose, data):
    keys = Keyring.generate()
    asked = {"verb": "seal", "k": text(keys.primary.secret), "kid": keys.primary.kid, "data": text(data)}
    (made,) = jose({**asked, "ctx": msgspec.to_builtins(BOUND)})
    assert open_envelope(keys, BOUND, made["jwe"].encode()) == data
    with pytest.raises(EnvelopeRefused):
        open_envelope(keys, msgspec.structs.replace(BOUND, revision=1), made["jwe"].encode())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["says"])
def test_published_vectors(vector):
    """Whoever writes another client opens the first ones, and refuses the others."""
    keys = Keyring(Key(vector["kid"], raw(vector["k"])))
    bound = msgspec.convert(vector["ctx"], Bound)
    if vector["data"] is None:
        with pytest.raises(EnvelopeRefused):
            open_envelope(keys, bound, vector["jwe"].encode())
    else:
        assert open_envelope(keys, bound, vector["jwe"].encode()) == raw(vector["data"])


def cases(suites):
    for group in json.loads((suites / "crypto" / "json_web_encryption_test.json").read_bytes())["testGroups"]:
        for case in group["tests"]:
            yield group["private"], case


def test_wycheproof_s_envelopes_are_none_of_ours(suites):
    """None says what it is bound to, so none opens, whatever its key; and none breaks the reader."""
    count = 0
    for private, case in cases(suites):
        secret = raw(private["k"]) if private.get("kty") == "oct" else bytes(32)
        for kid in (private.get("kid", "k"), "k"):
            with pytest.raises(EnvelopeRefused):
                open_envelope(Keyring(Key(kid, secret)), BOUND, case["jwe"].encode())
            count += 1
    assert count >= 2 * 139


def test_wycheproof_on_the_library_below(suites):
    """Of the algorithms of the profile the valid ones open, and every other one is refused."""
    opened = 0
    for private, case in cases(suites):
        key = _key(private)
        if key is None:
            continue
        try:
            found = jwe.decrypt_compact(case["jwe"], key, algorithms=PROFILE).plaintext
        except (JoseError, ValueError, KeyError):
            continue
        assert case["result"] != "invalid", case
        assert found == bytes.fromhex(case["pt"])
        opened += 1
    assert opened > 0


def _key(private):
    try:
        found = import_key(private)
    except (JoseError, ValueError):
        return None
    return found if isinstance(found, OctKey | RSAKey) else None
