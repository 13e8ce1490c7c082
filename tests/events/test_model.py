"""Names of events and of their data."""

from __future__ import annotations

import hashlib
import uuid

from steadhold.events import event_id
from steadhold.events.model import data_ref, is_ours


def test_an_event_is_named_by_its_aggregate_and_revision_alone():
    name = event_id("w", "job:1", 2)
    assert name == event_id("w", "job:1", 2)
    assert uuid.UUID(name).version == 5
    assert len({name, event_id("v", "job:1", 2), event_id("w", "job:1", 3), event_id("w", "job:", 12)}) == 4


def test_inline_data_is_referred_to_by_its_event_and_digest():
    assert data_ref("e", b"{}") == f"event:e#sha256:{hashlib.sha256(b'{}').hexdigest()}"


def test_aggregates_of_rooms_are_ours():
    assert is_ours("job:1")
    assert is_ours("lock:deploy")
    assert not is_ours("jobs")
    assert not is_ours("order:1")
