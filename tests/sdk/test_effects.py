"""client.effects and client.journals, sync and async, against the real server."""

from __future__ import annotations

import asyncio
import threading

import pytest

from steadhold.kit.ids import new_id
from steadhold.sdk import AsyncClient, Client, errors
from steadhold.sdk.effects import (
    AlreadyInitiated,
    EffectConflict,
    EntryConflict,
    EvidenceConflict,
    NotNeeded,
    digest_of,
)
from tests.sdk.conftest import Played
from tests.sdk.site import key, site  # noqa: F401 - fixtures

MEANT = {
    "kind": "charge",
    "target": "venue",
    "request_digest": digest_of({"a": 1}),
    "amount": "12.50",
    "currency": "EUR",
}


@pytest.fixture(params=["sync", "async"])
def client(request, site, key):  # noqa: F811
    if request.param == "sync":
        with Client(site.url, key.key) as made:
            yield made
        return
    with asyncio.Runner() as runner:
        made = AsyncClient(site.url, key.key)
        yield Played(made, runner.run)
        runner.run(made.close())


def begun(client):
    id = f"c-{new_id()}"
    client.effects.plan(id, **MEANT)
    assert client.effects.initiate(id).yours
    return id


def test_a_digest_is_of_bytes_or_of_exact_json():
    assert digest_of(b'{"a":1}') == digest_of({"a": 1})
    assert digest_of(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_from_the_plan_to_the_settlement(client):
    id = f"c-{new_id()}"
    planned = client.effects.plan(id, **MEANT)
    assert (planned.execution, planned.open, planned.amount, planned.yours) == ("planned", True, "12.50", False)
    assert client.effects.plan(id, **MEANT) == planned
    with pytest.raises(EffectConflict):
        client.effects.plan(id, **{**MEANT, "amount": "12.5"})
    assert client.effects.initiate(id, answer_within_seconds=60.0).yours
    with pytest.raises(AlreadyInitiated) as refused:
        client.effects.initiate(id)
    assert refused.value.execution == "initiated"
    assert client.effects.outcome(id, "succeeded", venue_ref="v1", evidence_ref="mail").ended
    assert client.effects.settlement(id, "pending", settles_within_seconds=60.0).open
    assert client.effects.settlement(id, "settled").ended
    assert client.effects.wait(id, timeout_seconds=1.0).settlement == "settled"
    assert [found.settlement for found in client.effects.watch(id)] == ["settled"]
    lines = list(client.effects.history(id, machine="execution"))
    assert [(line.from_, line.to) for line in lines] == [
        (None, "planned"), ("planned", "initiated"), ("initiated", "succeeded"),
    ]  # fmt: skip


def test_a_lost_yours_is_found_under_its_operation_id(client):
    id = f"c-{new_id()}"
    client.effects.plan(id, **MEANT)
    operation = new_id()
    first = client.effects.initiate(id, operation_id=operation)
    assert client.effects.initiate(id, operation_id=operation) == first


def test_where_somebody_has_to_look(client):
    id = begun(client)
    client.effects.outcome(id, "unknown", evidence_id="e1")
    assert [found.effect_id for found in client.effects.list(reconciliation="needed")] == [id]
    with pytest.raises(TimeoutError):
        client.effects.wait(id, timeout_seconds=0.0)
    with pytest.raises(EvidenceConflict):
        client.effects.outcome(id, "failed", evidence_id="e1")
    assert client.effects.reconcile(id, "failed", evidence_ref="statement", evidence_id="e2").ended
    with pytest.raises(NotNeeded):
        client.effects.reconcile(id, "failed", evidence_ref="statement")
    assert list(client.effects.list(reconciliation="needed")) == []
    assert [found.effect_id for found in client.effects.list()] == [id]


def test_what_was_not_begun_is_abandoned(client):
    id = f"c-{new_id()}"
    client.effects.plan(id, **MEANT)
    assert client.effects.abandon(id, if_revision=1).execution == "abandoned"
    with pytest.raises(errors.RevisionConflict):
        client.effects.abandon(id, if_revision=1)
    with pytest.raises(errors.NotFound):
        client.effects.get("none")
    with pytest.raises(ValueError, match="no Id"):
        client.effects.plan("a b", **MEANT)


def test_a_charge_that_fifty_send_at_once_is_one_entry(site, key):  # noqa: F811
    """Each under an operation id of its own, as whoever lost an answer and its id would."""
    said = {"amount": "12.50", "currency": "EUR", "note": "order 7"}
    with Client(site.url, key.key) as client:
        got = []

        def send():
            got.append(client.journals.enter("sales", "order-7", **said))

        threads = [threading.Thread(target=send) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(got), len(set(got))) == (50, 1)
        assert list(client.journals.entries("sales")) == [got[0]]


def test_a_journal_keeps_each_charge_once(client):
    said = {"amount": "12.50", "currency": "EUR", "effect_id": "e", "data_ref": "d", "causation_id": "c", "note": "n"}
    first = client.journals.enter("j", "1", **said)
    assert client.journals.enter("j", "1", **said) == first
    with pytest.raises(EntryConflict):
        client.journals.enter("j", "1", **{**said, "amount": "12.51"})
    client.journals.enter("j", "2", amount="-1", currency="USD")
    client.journals.enter("k", "1", amount="3", currency="USD")
    assert [(entry.entry_id, entry.amount) for entry in client.journals.entries("j")] == [("1", "12.50"), ("2", "-1")]
