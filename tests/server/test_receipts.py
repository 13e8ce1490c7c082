"""An ask under a receipt: what it keeps of the ask, and how often an outcome is rendered."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from steadhold.kit.plan import Call, Plan
from steadhold.server.receipts import receipted
from steadhold.web.ask import Ask, Principal, Reply, Request, Route, Wait

WHO = Principal("acme", "anna", "k", "service", ("*:*",))
REQUEST = Request(WHO, "acme", {}, {}, {}, b"", "key", (), None, None, "PUT", "/v1/things/a")


def plan() -> Plan[str]:
    yield from ()
    return "done"


def asked(**more: Any) -> Ask[str]:
    return Ask(Call(plan, "acme", "things.put"), lambda made: Reply(200, made.encode()), **more)


def under_a_receipt(ask: Ask[str]) -> Ask[Any]:
    route = Route("PUT", "/v1/things/{name:path}", lambda _: ask, "things:write", "Write")
    return receipted(route, REQUEST, ask, ("anna",), kept_seconds=1_000_000)


def played(call: Call[Any]) -> Any:
    """The key is free: the call is played, and its receipt kept."""
    steps = call.begin()
    assert next(steps).sql.name == "operations.claim"
    assert steps.send([[(True, False, False, None)]]).sql.name == "operations.seal"
    with pytest.raises(StopIteration) as end:
        steps.send([[]])
    return end.value.value


def test_all_that_is_not_the_receipts_business_stays_as_it_was():
    before = asked(
        touches=(("thing", "a"),), wait=Wait[str](1.0, ("things",), bool), remember=lambda _: Reply(200),
        undo=lambda _: None, wakes=lambda _: (), needs=(("things:write", "a"),),
    )  # fmt: skip
    assert all(getattr(before, field.name) != field.default for field in fields(Ask))
    after = under_a_receipt(before)
    for field in fields(Ask):
        same = getattr(after, field.name) == getattr(before, field.name)
        assert same == (field.name not in {"call", "render", "touches"}), field.name
    assert after.touches == (("thing", "a"), ("operations", "key"))


def test_what_the_receipt_keeps_is_what_is_sent():
    after = under_a_receipt(asked())
    outcome = played(after.call)
    assert after.render(outcome) is after.render(outcome)
    assert after.render(outcome) == Reply(200, b"done")


def test_what_is_sent_once_only_is_rendered_apart():
    after = under_a_receipt(asked(remember=lambda _: Reply(200, b"a secret was sent")))
    assert after.render(played(after.call)) == Reply(200, b"done")
