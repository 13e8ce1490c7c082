"""Misuse of a verb of the library is loud, before the database is asked anything (design law 12)."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

import steadhold
from steadhold import approvals, locks, state
from steadhold.approvals import Artifact, Asked, By
from steadhold.kit import rules
from steadhold.kit.plan import Operation, operation
from steadhold.kit.rules import Comment, Id, Length, Misuse, Moment, Path, Rule, Text, Uuid, json_fault, json_of

ID = "0193a5f0-0000-7000-8000-000000000000"
AGENT = By("robot", "service", ("approvals:request",))


class Untouched:
    """A connection of which nothing may be asked."""

    def __getattr__(self, name):
        raise AssertionError(f"the connection was asked for {name}")


@dataclass(frozen=True)
class Order:
    name: Path
    notes: tuple[Comment, ...] = ()


class Parcel(Struct):
    to: Id
    kind: Literal["box", "bag"] = "box"
    tags: Annotated[tuple[Id, ...], Meta(max_length=2)] = ()
    at: Moment | None = None


def parcel_fault(parcel):
    return "A bag has no tags." if parcel.kind == "bag" and parcel.tags else None


@operation
def verb(
    workspace: str,
    name: Id,
    order: Order | None = None,
    orders: Sequence[Order | int] = (),
    ids: Sequence[Uuid] = (),
    *,
    wait_seconds: Length | None = None,
    body: Annotated[bytes, json_of(9)] = b"{}",
    title: Text = "t",
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5,
    parcel: Annotated[Parcel, Rule(parcel_fault)] | None = None,
    **more,
):
    """Do nothing."""
    yield from ()


@pytest.mark.parametrize(
    ("args", "kw", "why"),
    [
        (("a/b",), {}, "verb: name: An id holds"),
        (("",), {}, "at least one character"),
        ((7,), {}, "name: str is wanted; this is int"),
        (("a", Order("/x")), {}, r"order\.name: A path has no empty segment"),
        (("a", Order("x", ("fine", "n\0"))), {}, r"order\.notes\[1\]: It holds no NUL"),
        (("a",), {"orders": [Order("x"), 7, Order("x/../y")]}, r"orders\[2\]\.name: A path has no segment"),
        (("a",), {"ids": [ID, ID.upper()]}, r"ids\[1\]: It matches"),
        (("a",), {"wait_seconds": 302_400.0}, "It is at most 3600; this is 302400"),
        (("a",), {"wait_seconds": math.nan}, "It is at least 1; this is nan"),
        (("a",), {"wait_seconds": True}, "float is wanted; this is bool"),
        (("a",), {"body": b"{]"}, "body: No exact JSON: "),
        (("a",), {"body": b'{"a": "b"}'}, "At most 9 bytes; these are 10"),
        (("a",), {"body": "{}"}, "body: bytes is wanted; this is str"),
        (("a",), {"title": ""}, "It is at least 1; this is 0"),
        (("a",), {"title": "n\0"}, "It holds no NUL"),
        (("a",), {"share": 0.0}, "It is more than 0; this is 0.0"),
        (("a",), {"share": 1.0}, "It is less than 1; this is 1.0"),
        (("a",), {"ids": ID}, "ids: A list is wanted; this is str"),
        (("a",), {"parcel": Parcel("/")}, r"parcel\.to: An id"),
        (("a",), {"parcel": Parcel("x", "jar")}, r"parcel\.kind: It is one of box, bag; this is 'jar'"),
        (("a",), {"parcel": Parcel("x", tags=("a", "b", "c"))}, r"parcel\.tags: It is at most 2; this is 3"),
        (("a",), {"parcel": Parcel("x", tags=("a", ""))}, r"parcel\.tags\[1\]: An id"),
        (("a",), {"parcel": Parcel("x", "bag", ("a",))}, "parcel: A bag has no tags"),
        (("a",), {"parcel": Parcel("x", at=datetime(2030, 1, 1))}, r"parcel\.at: It has a time zone"),  # noqa: DTZ001
    ],
)
def test_what_breaks_a_rule_is_said_before_anything_is_asked(args, kw, why):
    with pytest.raises(Misuse, match=why):
        verb(Untouched(), "w", *args, **kw)


def test_what_keeps_the_rules_is_played(conn, workspace):
    assert (
        verb(
            conn, workspace, "a", Order("x/y", ("z",)), [7, Order("é")], [ID], wait_seconds=1, body=b"[1]", further="/"
        )
        is None
    )


def test_a_door_has_tested_already_so_a_call_is_made_of_what_it_is_given():
    assert verb.call("w", "a/b").workspace == "w"


@pytest.mark.parametrize(
    ("played", "args", "why"),
    [
        (locks.acquire, ("a/b", "me", 30), "locks.acquire: name: An id holds"),
        (locks.acquire, ("a", "me", 3.5 * 86_400), "ttl_seconds: It is at most 3600"),
        (state.put, ("/x", b"1", None), "state.put: name: A path has no empty segment"),
        (state.put, ("x", b"{'a': 1}", None), "body: No exact JSON"),
        (state.batch, ([state.Put("x", b"nan", None)],), r"items\[0\]\.body: No exact JSON"),
        (approvals.get, ("7",), "approvals.get: id: It matches"),
    ],
)
def test_the_rooms_refuse_what_no_door_would_let_in(played, args, why):
    with pytest.raises(Misuse, match=why):
        played(Untouched(), "w", *args)


def test_a_question_that_no_door_would_ask_is_refused():
    asked = Asked(ID, Artifact.of("report", "1", b"x"), "publish", "", 60.0)
    with pytest.raises(Misuse, match=r"approvals\.request: asked\.title: It is at least 1"):
        approvals.request(Untouched(), "w", asked, by=AGENT)


def _verbs():
    for module in pkgutil.walk_packages(steadhold.__path__, "steadhold."):
        if not module.name.endswith("__main__"):
            found = importlib.import_module(module.name)
            yield from (
                one for one in vars(found).values() if isinstance(one, Operation) and one.plan.__module__ == module.name
            )


def test_the_rules_of_every_verb_can_be_read():
    """A name that is there for type checkers alone would hide a rule."""
    verbs = list(_verbs())
    assert len(verbs) > 100
    for one in verbs:
        assert next(iter(rules.signature(one.plan).parameters)).endswith("workspace")


def test_text_is_no_bytes_of_json():
    assert json_fault(9, "{}") == "Bytes are wanted; this is text."
    assert json_fault(9, b"{}") is None
