"""A keyring lies where its owner says, and nowhere else: not in a pickle, a failure, or half a file."""

from __future__ import annotations

import copy
import fcntl
import json
import pickle
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from steadhold.envelopes import Bound, EnvelopeRefused, Keyring, KeyringFault, open_envelope, seal
from steadhold.envelopes.keyring import VARIABLE


def test_a_key_lies_in_no_pickle():
    keys = Keyring.generate()
    for kept in (keys, keys.primary, {"keys": [keys]}):
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(kept)
    assert copy.deepcopy(keys).primary is keys.primary


def _damaged(kept):
    said = json.loads(kept)
    secret = said["keys"][0]["k"]
    yield kept[:-20], secret
    yield kept.replace(b"oct", b"\xffct"), secret
    yield json.dumps({**said, "more": 1}).encode(), secret
    yield json.dumps({**said, "keys": [{**said["keys"][0], "k": secret + "A"}]}).encode(), secret + "A"
    yield json.dumps({**said, "keys": [{**said["keys"][0], "kid": secret, "k": 7}]}).encode(), secret


def test_what_fails_holds_no_secret():
    """Also not in what it was raised from, which what reports failures may show with all its members."""
    for raw, secret in _damaged(Keyring.generate().dump()):
        with pytest.raises(KeyringFault) as told:
            Keyring.loads(raw)
        assert told.value.__context__ is told.value.__cause__ is None
        assert secret not in "".join(traceback.format_exception(told.value))


def test_an_envelope_that_is_refused_shows_nothing_of_it():
    keys = Keyring.generate()
    here = Bound(workspace="w", kind="state", name="a", content_type="application/json", revision=1)
    envelope = seal(keys, here, b"canary")
    spoiled = envelope[:-1] + (b"A" if envelope[-1:] != b"A" else b"Q")
    with pytest.raises(EnvelopeRefused) as told:
        open_envelope(keys, here, spoiled)
    shown = "".join(traceback.format_exception(told.value))
    assert "canary" not in shown
    assert "canary" not in repr(told.value.__context__)


def test_it_is_written_where_a_link_leads(tmp_path):
    place, link = tmp_path / "keys", tmp_path / "link"
    Keyring.generate().save(place)
    link.symlink_to(place)
    newer = Keyring.load(link).rotated()
    newer.save(link)
    assert link.is_symlink()
    assert Keyring.load(place).primary.kid == newer.primary.kid
    assert sorted(one.name for one in tmp_path.iterdir()) == ["keys", "link"]


def test_what_is_there_is_not_written_over_and_nothing_is_left_beside(tmp_path):
    place = tmp_path / "keys"
    first = Keyring.generate()
    first.save(place, over=False)
    with pytest.raises(FileExistsError):
        Keyring.generate().save(place, over=False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        first.save(tmp_path / "folder")
    assert Keyring.load(place).primary.kid == first.primary.kid
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "keys"]


def test_a_variable_that_is_no_text_is_no_keyring(monkeypatch):
    monkeypatch.setenv(VARIABLE, "\udcff")
    with pytest.raises(KeyringFault):
        Keyring.from_environment()


def test_who_changes_a_keyring_does_so_alone(tmp_path):
    file = tmp_path / "keys.json"
    Keyring.generate().save(file)

    def change(keys):
        with file.open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return keys.rotated()

    changed = Keyring.changed(file, change)
    assert Keyring.load(file).primary.kid == changed.primary.kid
    with file.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_two_who_change_a_keyring_lose_no_key(tmp_path):
    file = tmp_path / "keys.json"
    Keyring.generate().save(file)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: Keyring.changed(file, lambda keys: keys.rotated()), range(12)))
    kept = Keyring.load(file)
    assert {keys.primary.kid for keys in made} <= {key.kid for key in (kept.primary, *kept.decrypt_only)}
    assert len(kept.decrypt_only) == 12


def test_a_change_that_fails_leaves_the_keyring(tmp_path):
    file = tmp_path / "keys.json"
    first = Keyring.generate()
    first.save(file)
    with pytest.raises(KeyringFault, match="rotate first"):
        Keyring.changed(file, lambda keys: keys.without(keys.primary.kid))
    assert Keyring.load(file).primary.kid == first.primary.kid
