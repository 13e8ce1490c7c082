"""Bodies into Structs: what is wrong is said in our words, with a pointer, whatever the decoder's words are."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Annotated, Literal

import msgspec
import pytest

from steadhold.kit import ids
from steadhold.web import choices, decode
from steadhold.web.ask import Stop


class Timer(msgspec.Struct, tag="timer", tag_field="kind", frozen=True, forbid_unknown_fields=True):
    seconds: float


class Signal(msgspec.Struct, tag="signal", tag_field="kind", frozen=True, forbid_unknown_fields=True):
    name: str


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: Annotated[int, msgspec.Meta(ge=0, le=9)] = 0
    name: Annotated[str, msgspec.Meta(max_length=3)] = ""
    tags: dict[str, int] = {}
    kind: Literal["a", "b"] = "a"
    wait: Timer | Signal | None = None
    of: Annotated[str, msgspec.Meta(pattern=ids.whole(ids.ID_PATTERN))] | None = None
    uuid: Annotated[str, msgspec.Meta(pattern=ids.whole(ids.UUID_PATTERN))] = ""
    text: Annotated[str, msgspec.Meta(pattern=ids.NO_NUL)] = ""
    when: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    hash: Annotated[str, msgspec.Meta(pattern=ids.whole(ids.HASH_PATTERN))] = ""
    hex: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]+$")] = ""
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    items: list[Item]


class Loose(msgspec.Struct):
    a: int = 0


KNOWN = "size, name, tags, kind, wait, of, uuid, text, when, hash, hex, value"
HASH = "sha256: with 64 of 0-9a-f, or sha512: with 128"
MOMENT = "a moment with its offset, as in 2026-11-29T16:00:00Z"


def read(raw: bytes, into=Body):
    return decode.body(SimpleNamespace(body=raw), into)


@pytest.mark.parametrize(
    "item,pointer,detail",
    [
        (b'{"sise": 1}', "/items/1/sise", f"/items/1/sise is not known here; there are {KNOWN}."),
        (b'{"a/b~c": 1}', "/items/1/a~1b~0c", f"/items/1/a~1b~0c is not known here; there are {KNOWN}."),
        (b'{"size": "1"}', "/items/1/size", "/items/1/size must be a whole number."),
        (b'{"size": 10}', "/items/1/size", "/items/1/size must be a whole number <= 9."),
        (b'{"size": 1e400}', "/items/1/size", "/items/1/size has a value that is not taken here."),
        (b'{"name": "long"}', "/items/1/name", "/items/1/name must be a string of length <= 3."),
        (b'{"of": "a b"}', "/items/1/of", "/items/1/of must be an Id: 1 to 200 letters, digits and . _ ~ : @ -."),
        (b'{"of": 1}', "/items/1/of", "/items/1/of must be a string or null."),
        (b'{"uuid": "A"}', "/items/1/uuid", "/items/1/uuid must be a UUID in small letters, with its hyphens."),
        (b'{"text": "\\u0000"}', "/items/1/text", "/items/1/text must be a string without the character NUL."),
        (b'{"when": "1899-12-31T23:59:59Z"}', "/items/1/when", "/items/1/when must lie in the years 1900 to 2999."),
        (b'{"when": "3000-01-01T00:00:00Z"}', "/items/1/when", "/items/1/when must lie in the years 1900 to 2999."),
        (
            b'{"when": "0001-01-01T00:00:00+05:00"}',
            "/items/1/when",
            "/items/1/when must lie in the years 1900 to 2999.",
        ),
        (b'{"hex": "g"}', "/items/1/hex", "/items/1/hex must be a string that matches ^[0-9a-f]+$."),
        (b'{"tags": {"x": "y"}}', "/items/1/tags", "/items/1/tags must be a whole number."),
        (b'{"kind": "c"}', "/items/1/kind", "/items/1/kind must be one of a, b."),
        (b'{"wait": {"kind": "x"}}', "/items/1/wait/kind", "/items/1/wait/kind must be one of timer, signal."),
        (b'{"wait": {"kind": "timer", "secs": 1}}', "/items/1/wait/secs", "/items/1/wait/secs is not known here."),
        (b'{"hash": "sha256:0"}', "/items/1/hash", f"/items/1/hash must be {HASH}."),
        (b'{"when": "2026-11-29"}', "/items/1/when", f"/items/1/when must be {MOMENT}."),
        (b'{"when": "2026-11-29T16:00:00"}', "/items/1/when", f"/items/1/when must be {MOMENT}."),
        (b'{"wait": {}}', "/items/1/wait/kind", "/items/1/wait/kind is missing."),
        (b'{"wait": {"kind": "timer"}}', "/items/1/wait/seconds", "/items/1/wait/seconds is missing."),
        (b'{"wait": 3}', "/items/1/wait", "/items/1/wait must be an object or null."),
        (b"[]", "/items/1", "/items/1 must be an object."),
    ],
)
def test_a_wrong_member_is_pointed_at(item, pointer, detail):
    with pytest.raises(Stop) as stopped:
        read(b'{"items": [{}, ' + item + b"]}")
    problem = stopped.value.problem
    assert (problem.code, problem.extras["pointer"], problem.detail) == ("bad_member", pointer, detail)


@pytest.mark.parametrize("begun", [" - at `$", " - at `$.a", " - at `$[0]", "Object contains unknown field `"])
@pytest.mark.parametrize("end", ["\n", " - at `$", " - at `$..", "` - at `$.items[0]"])
@pytest.mark.timeout(30)
def test_a_name_that_looks_like_the_decoder_s_words_is_a_name_and_is_read_once(begun, end):
    """Read again from each place where they seem to begin, half a megabyte would hold up everybody for an hour."""
    with pytest.raises(Stop) as stopped:
        read(msgspec.json.encode({begun * 50_000 + end: 1}))
    assert stopped.value.problem.code == "bad_member"


def test_what_is_remembered_of_places_in_bodies_is_short():
    """A place that somebody makes up in a name is none, so nothing keeps it."""
    choices._at.cache_clear()
    with pytest.raises(Stop) as stopped:
        read(msgspec.json.encode({"a` - at `$" + ".a" * 100_000: 1}))
    assert stopped.value.problem.extras["pointer"].startswith("/a` - at `$.a")
    assert choices._at.cache_info().currsize == 1


@pytest.mark.parametrize(
    "raw,detail", [(b"[]", "The body must be an object."), (b"{}", "/items is missing."), (b"", "/items is missing.")]
)
def test_a_wrong_body_is_said(raw, detail):
    with pytest.raises(Stop) as stopped:
        read(raw)
    assert stopped.value.problem.detail == detail


def test_a_users_member_keeps_its_bytes():
    body = read(b'{"items": [{"value":  [1.10,\t"\\u0061", 1e400 ] }, {}]}')
    assert bytes(body.items[0].value) == b'[1.10,\t"\\u0061", 1e400 ]'
    assert body.items[1].value is msgspec.UNSET


def test_a_struct_that_passes_over_unknown_members_is_refused():
    with pytest.raises(TypeError, match="forbid_unknown_fields"):
        read(b"{}", Loose)
