"""The text of a key: made, read, compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.access.token import Token, key_id_of, opens, parse_token, secret_of


def a_token(env="live"):
    return Token(env, key_id_of("0198c0de-0000-7000-8000-00000000002a"), secret_of(bytes(range(32))))


def test_a_key_reads_back_as_it_was_made():
    token = a_token()
    assert parse_token(token.text) == token
    assert token.text.startswith("sh_live_")
    assert len(token.hash) == 32


@given(st.binary(min_size=32, max_size=32), st.uuids(), st.from_regex(r"[a-z0-9]{1,16}", fullmatch=True))
def test_every_key_reads_back(random, fresh, env):
    token = Token(env, key_id_of(str(fresh)), secret_of(random))
    assert parse_token(token.text) == token


@pytest.mark.parametrize("at", range(len(a_token().text)))
def test_a_mistyped_key_is_none(at):
    text = a_token().text
    wrong = "0" if text[at] != "0" else "1"
    assert parse_token(text[:at] + wrong + text[at + 1 :]) is None


@pytest.mark.parametrize(
    "text", ["", "sh_", "sh_live__", a_token().text + "x", a_token().text + "\n", "Ω" * 80, "x" * 256]
)
def test_what_is_no_key_is_none(text):
    assert parse_token(text) is None


def test_a_secret_is_told_by_no_representation():
    token = a_token()
    assert token.secret not in repr(token)
    assert token.secret not in f"{[token]!s}"


def test_a_hash_is_of_this_key_only():
    one = Token("live", key_id_of("0198c0de-0000-7000-8000-000000000001"), secret_of(bytes(32)))
    two = Token("live", key_id_of("0198c0de-0000-7000-8000-000000000002"), secret_of(bytes(32)))
    assert one.hash != two.hash


@given(st.uuids(version=4), st.uuids(version=4))
def test_ids_sort_as_what_they_were_made_of(a, b):
    assert (key_id_of(str(a)) < key_id_of(str(b))) == (a.int < b.int)


def test_a_secret_takes_all_its_bytes():
    with pytest.raises(ValueError, match="32 random bytes, not 16"):
        secret_of(bytes(16))


def test_both_hashes_are_compared_whatever_the_first_said(monkeypatch):
    compared = []
    monkeypatch.setattr("steadhold.access.token.hmac.compare_digest", lambda a, b: compared.append(b) or a == b)
    assert opens(b"x", b"x", b"y") == (True, False)
    assert opens(b"q", b"x", b"y") == (False, False)
    assert compared == [b"x", b"y", b"x", b"y"]
