"""Answers that several tests give."""

from __future__ import annotations

import httpx2

WRITTEN = httpx2.Response(200, json={"name": "a", "revision": 2}, headers={"revision": "2"})
REPLAYED = httpx2.Response(
    200, json={"name": "a", "revision": 2}, headers={"revision": "2", "idempotent-replayed": "true"}
)
READ = httpx2.Response(200, content=b"1", headers={"revision": "2"})
COMMITTED = httpx2.Response(
    200,
    json={
        "operation_id": "x", "state": "committed", "kind": "state.put", "status": 200, "revision": 2,
        "result": {"name": "a", "revision": 2}, "committed_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-01-08T00:00:00Z",
    },
)  # fmt: skip
ABANDONED = httpx2.Response(
    200,
    json={
        "operation_id": "x", "state": "abandoned", "kind": "operations.abandon", "status": 200,
        "result": None, "committed_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-08T00:00:00Z",
    },
)  # fmt: skip
