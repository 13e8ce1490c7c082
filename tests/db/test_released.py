"""Migrations that databases already carry are never edited: a change is a new file."""

from __future__ import annotations

from steadhold.db.migrate import files

RELEASED = {
    "house": "0bf598e79a14e0c9",
    "operations": "ba4d59ae78109596",
    "fences": "fb2fed0080c71d03",
    "blobs": "ecd08446cd4ecdf2",
    "events": "1a49f46682094120",
    "access": "7d79a25e3abc2027",
    "state": "e199aa4455cce385",
    "jobs": "5b049e805ff28a4d",
    "due": "dcc79497e3fc2b4f",
    "locks": "c6e43a709634f436",
    "approvals": "0995c22de628e54a",
    "schedules": "a95508ca95497dc1",
    "coordination": "93035b496938c3ed",
    "jobs_speed": "0640e9b580f998cc",
    "events_flow": "942ec1aaddda9df2",
    "inboxes": "17b1aa8124e4dfec",
    "webhooks": "75d2fb42889e129a",
    "flow": "207e8e9918b5fb78",
    "doors": "f20795cdec350600",
    "targets": "28ff75841d0082ec",
    "webhooks_kept": "e9fbaf4e3249d7ee",
    "events_kept": "2940d4c1914bf262",
    "context": "e0d150c20a527327",
    "effects": "37f028b5c92db32f",
    "private": "d777c770e34a7c77",
    "rooms": "68859c97d58ad607",
    "traces": "b73446ab9dcf7925",
    "told": "6e7dff27619b4f9e",
    "state_hot": "a1065fc7e13eee1f",
}
"""The name of each released migration, and how the digest of its text begins."""


def test_a_released_migration_keeps_its_text() -> None:
    told = {file.name: file.checksum[:16] for file in files()}
    assert {name: told.get(name) for name in RELEASED} == RELEASED
