"""Sealing and opening: whatever differs from what was sealed, is not opened."""

from __future__ import annotations

import base64
import json
import sys

import msgspec
import pytest
from joserfc import jwe
from joserfc.jwk import OctKey

from steadhold.envelopes import Bound, EnvelopeRefused, Key, Keyring, KeyringFault, open_envelope, seal
from steadhold.kit.limits import SEALED_BYTES_MAX
from steadhold.kit.sealed import Seal, SealFault, SealReader, header_of, seal_of

KEYS = Keyring.generate()
HERE = Bound(workspace="w", kind="state", name="a/b", content_type="application/json", revision=3)
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@pytest.mark.parametrize("data", [b"", b"1", bytes(range(256)) * 64])
def test_what_is_sealed_is_opened(data):
    assert open_envelope(KEYS, HERE, seal(KEYS, HERE, data)) == data


def test_each_message_has_a_key_and_a_nonce_of_its_own():
    made = [seal(KEYS, HERE, b"1").split(b".") for _ in range(100)]
    assert len({parts[1] for parts in made}) == len({parts[2] for parts in made}) == 100


def test_no_character_can_be_another():
    """Each one, replaced by the one with its lowest bit flipped and by its neighbour, also where bits are to spare."""
    envelope = seal(KEYS, HERE, b"secret")
    for at, character in enumerate(envelope):
        if character == ord("."):
            continue
        place = LETTERS.index(character)
        for other in (LETTERS[place ^ 1], LETTERS[(place + 1) % 64]):
            with pytest.raises(EnvelopeRefused):
                open_envelope(KEYS, HERE, envelope[:at] + bytes([other]) + envelope[at + 1 :])


@pytest.mark.parametrize("data", [b"1", b"12"])
def test_no_part_has_a_second_spelling(data):
    """Bits that the last character of a part has to spare are zero, so each message has one spelling."""
    parts = seal(KEYS, HERE, data).split(b".")
    for at in (3, 4):
        other = bytes([LETTERS[LETTERS.index(parts[at][-1]) + 1]])
        assert isinstance(seal_of(b".".join([*parts[:at], parts[at][:-1] + other, *parts[at + 1 :]])), SealFault)


def test_nothing_can_be_cut_off_or_added():
    envelope = seal(KEYS, HERE, b"secret")
    for changed in [
        *(envelope[:size] for size in range(len(envelope))),
        envelope + b"A",
        envelope + b".",
        b"." + envelope,
    ]:
        with pytest.raises(EnvelopeRefused):
            open_envelope(KEYS, HERE, changed)


@pytest.mark.parametrize(
    "word, value",
    [("workspace", "x"), ("kind", "context"), ("name", "a/c"), ("content_type", "text/plain"), ("revision", 4)],
)
def test_it_opens_nowhere_else(word, value):
    envelope = seal(KEYS, HERE, b"1")
    with pytest.raises(EnvelopeRefused, match=f"{word} differ"):
        open_envelope(KEYS, msgspec.structs.replace(HERE, **{word: value}), envelope)


def test_parts_of_two_envelopes_make_none():
    one, other = seal(KEYS, HERE, b"1").split(b"."), seal(KEYS, HERE, b"2").split(b".")
    for at in range(1, 5):
        with pytest.raises(EnvelopeRefused):
            open_envelope(KEYS, HERE, b".".join([*one[:at], other[at], *one[at + 1 :]]))


def test_an_unknown_key_is_named_and_no_other_is_tried():
    envelope = seal(KEYS, HERE, b"1")
    other = Keyring(Key("other", KEYS.primary.secret))
    with pytest.raises(EnvelopeRefused, match=f"{KEYS.primary.kid}' is not in the keyring"):
        open_envelope(other, HERE, envelope)
    impostor = Keyring(Key(KEYS.primary.kid, b"x" * 32))
    with pytest.raises(EnvelopeRefused, match="another key of this name"):
        open_envelope(impostor, HERE, envelope)


def _made(header, *, key=KEYS.primary.secret, more=()):
    """An envelope of another profile, made with the same key."""
    registry = jwe.JWERegistry(
        algorithms=["A256KW", "A256GCM", "dir", "A128KW", "A128GCM", "A256CBC-HS512", "DEF"], strict_check_header=False
    )
    return jwe.encrypt_compact(header, b"1", OctKey.import_key(key), registry=registry).encode()


def _header(**changed):
    header = {**header_of(KEYS.primary.kid, HERE), **changed}
    header.pop("crit")  # the library would want to know it
    return {name: value for name, value in header.items() if value is not None}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"enc": "A256CBC-HS512"},
        {"enc": "A128GCM"},
        {"alg": "dir"},
        {"zip": "DEF"},
        {"kid": None},
        {"ctx": None},
        {"ctx": {"workspace": "w"}},
        {"jku": "https://keys.example"},
    ],
)
def test_another_profile_is_refused_whoever_made_it(changed):
    with pytest.raises(EnvelopeRefused):
        open_envelope(KEYS, HERE, _made(_header(**changed)))


def _with_header(text):
    parts = seal(KEYS, HERE, b"1").split(b".")
    return b".".join([base64.urlsafe_b64encode(text).rstrip(b"="), *parts[1:]])


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"alg": "none"}',
        json.dumps(header_of("k", HERE) | {"crit": []}).encode(),
        json.dumps(header_of("k", HERE) | {"crit": ["ctx", "exp"], "exp": 1}).encode(),
        json.dumps(header_of("k", HERE) | {"zip": "DEF"}).encode(),
        json.dumps(header_of("k", HERE) | {"jku": "https://keys.example"}).encode(),
        json.dumps(header_of("k", HERE) | {"kid": "a/b"}).encode(),
        json.dumps(header_of("k", HERE)).replace('"kid"', '"kid": "j", "kid"').encode(),
        json.dumps(header_of("k" * 9000, HERE)).encode(),
        json.dumps(header_of("k", HERE)).encode()[:-1],
        b'{"alg":' * 5000,
    ],
)
def test_a_header_of_another_shape_is_a_fault_and_no_exception(text):
    assert isinstance(seal_of(_with_header(text)), SealFault)


@pytest.mark.parametrize("raw", [b"", b".", b"....", b"eyJ", b"{}", b"\xff" * 40, b"A" * 7 + b"...."])
def test_what_is_no_envelope_is_a_fault_and_no_exception(raw):
    assert isinstance(seal_of(raw), SealFault)
    with pytest.raises(EnvelopeRefused):
        open_envelope(KEYS, HERE, raw)


def test_the_readable_part_says_where_it_belongs():
    assert seal_of(seal(KEYS, HERE, b"1")) == Seal(KEYS.primary.kid, HERE)


def test_what_is_too_large_is_not_sealed():
    with pytest.raises(ValueError, match="takes up to"):
        seal(KEYS, HERE, bytes(SEALED_BYTES_MAX // 4 * 3))


# --- keyrings


def test_a_keyring_is_kept_in_a_file_that_others_cannot_read(tmp_path):
    keyring, place = Keyring.generate().rotated(), tmp_path / "keys.json"
    keyring.save(place)
    assert place.stat().st_mode & 0o777 == 0o600
    again = Keyring.load(place)
    assert (again.primary, again.decrypt_only) == (keyring.primary, keyring.decrypt_only)
    place.chmod(0o640)
    with pytest.raises(KeyringFault, match="chmod 600"):
        Keyring.load(place)


def test_a_keyring_comes_from_the_environment_or_a_function(monkeypatch):
    keyring = Keyring.generate()
    monkeypatch.setenv("STEADHOLD_KEYRING", keyring.dump().decode())
    assert Keyring.from_environment().primary == keyring.primary
    assert Keyring.fetched(keyring.dump).primary == keyring.primary
    monkeypatch.delenv("STEADHOLD_KEYRING")
    with pytest.raises(KeyringFault, match="STEADHOLD_KEYRING is not set"):
        Keyring.from_environment()


def test_a_keyring_shows_no_secret():
    keyring = Keyring.generate().rotated()
    (jwk, *_) = json.loads(keyring.dump())["keys"]
    shown = f"{keyring!r} {keyring} {keyring.primary!r} {keyring.decrypt_only}"
    assert jwk["k"] not in shown
    assert repr(keyring.primary.secret) not in shown
    assert keyring.primary.kid in shown


JWK = {"kty": "oct", "kid": "a", "k": base64.urlsafe_b64encode(bytes(32)).decode().rstrip("=")}


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"[]",
        b"\xff",
        json.dumps({"primary": "a", "keys": []}).encode(),
        json.dumps({"primary": "b", "keys": [JWK]}).encode(),
        json.dumps({"primary": "a", "keys": [JWK, JWK]}).encode(),
        json.dumps({"primary": "a", "keys": [JWK | {"k": "AAAA"}]}).encode(),
        json.dumps({"primary": "a", "keys": [JWK | {"k": "ä"}]}).encode(),
        json.dumps({"primary": "a", "keys": [JWK | {"kty": "RSA"}]}).encode(),
        json.dumps({"primary": "a", "keys": [JWK | {"alg": "A256KW"}]}).encode(),
    ],
)
def test_what_is_no_keyring_is_refused_without_showing_it(kept):
    with pytest.raises(KeyringFault) as told:
        Keyring.loads(kept)
    assert JWK["k"] not in str(told.value)


def test_keys_are_added_and_left_out():
    keyring = Keyring.generate()
    envelope = seal(keyring, HERE, b"1")
    readers = Keyring.generate().with_decrypt_only(keyring.primary)
    assert open_envelope(readers, HERE, envelope) == b"1"
    with pytest.raises(EnvelopeRefused):
        open_envelope(readers.without(keyring.primary.kid), HERE, envelope)
    with pytest.raises(KeyringFault, match="rotate first"):
        keyring.without(keyring.primary.kid)
    with pytest.raises(KeyringFault, match="one kid"):
        keyring.with_decrypt_only(keyring.primary)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000])
@pytest.mark.parametrize("step", [1, 7, 64, 10_000])
def test_an_envelope_in_pieces_is_read_as_one(size, step):
    """Whole and damaged in every place: as `seal_of` says, but that it may say why in other words."""
    envelope = seal(KEYS, HERE, b"x" * size)
    damaged = [envelope[:at] + b"!" + envelope[at + 1 :] for at in range(0, len(envelope), 1 + len(envelope) // 40)]
    for raw in [envelope, *damaged, envelope[:-1], envelope + b"A", envelope + b".A", envelope[:60], b"", b"."]:
        reader = SealReader()
        for at in range(0, len(raw), step):
            reader.update(raw[at : at + step])
        said, whole = reader.end(), seal_of(raw)
        assert said == whole or (isinstance(said, SealFault) and isinstance(whole, SealFault))


def test_an_endless_header_is_read_no_further():
    reader = SealReader()
    for _ in range(100):
        reader.update(b"A" * 65_536)
    assert isinstance(reader.end(), SealFault)
    assert sum(sys.getsizeof(getattr(reader, slot)) for slot in SealReader.__slots__) < 200_000
