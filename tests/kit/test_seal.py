"""Secrets at rest: opened by whoever has the key, for what they were sealed for, and by nobody else."""

from __future__ import annotations

import pytest

from steadhold.kit import seal
from steadhold.kit.seal import Sealing, Unsealable

OLD, NEW = bytes(32), bytes(range(32))


def test_what_was_sealed_is_opened_and_nowhere_to_be_seen():
    sealed = Sealing((OLD,)).seal(b"whsec_secret", "a")
    assert b"whsec" not in sealed
    assert Sealing((OLD,)).open(sealed, "a") == b"whsec_secret"
    assert Sealing((OLD,)).seal(b"whsec_secret", "a") != sealed


def test_a_key_can_be_replaced():
    sealed = Sealing((OLD,)).seal(b"x", "a")
    both = Sealing((NEW, OLD))
    assert both.open(sealed, "a") == b"x"
    assert Sealing((NEW,)).open(both.seal(b"x", "a"), "a") == b"x"


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s[:-1],
        lambda s: b"\x02" + s[1:],
        lambda s: s[:5] + b"\0" + s[6:],
        lambda s: s[:5],
        lambda s: s[:1],
        lambda s: b"",
    ],
)
def test_what_was_altered_is_not_opened(change):
    sealed = Sealing((OLD,)).seal(b"x", "a")
    with pytest.raises(Unsealable):
        Sealing((OLD,)).open(change(sealed) if change(sealed) != sealed else b"", "a")


def test_another_key_or_purpose_opens_nothing():
    sealed = Sealing((OLD,)).seal(b"x", "a")
    for sealing, of in ((Sealing((NEW,)), "a"), (Sealing((OLD,)), "b"), (seal.UNSEALED, "a")):
        with pytest.raises(Unsealable):
            sealing.open(sealed, of)


def test_the_setting_holds_keys():
    one, two = seal.new_key(), seal.new_key()
    assert len(seal.read_keys(f"{one}, {two}").keys) == 2
    assert not seal.read_keys("")
    for text in ("x", one[:-4], "-" * 44):
        with pytest.raises(seal.KeyFault):
            seal.read_keys(text)
    assert one not in repr(seal.read_keys(one))
