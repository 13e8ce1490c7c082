"""`steadhold operations`: a lost answer is found again."""

from __future__ import annotations

import msgspec
import pytest

from tests.cli.conftest import problem, reply

RECEIPT = {
    "operation_id": "op-1", "state": "committed", "kind": "state.put", "status": 201,
    "resource": "state:a", "revision": 1,
    "committed_at": "2026-11-29T16:00:00Z", "expires_at": "2026-12-06T16:00:00Z", "result": {"n": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    "words, asked",
    [
        ("show op-1", "GET /v1/operations/op-1"),
        ("show op-1 --wait 5", "GET /v1/operations/op-1?wait_seconds=5"),
        ("abandon op-1", "POST /v1/operations/op-1/abandon"),
    ],
)
def test_a_receipt_is_told_whole(steadhold, server, words, asked):
    server.then(reply(200, msgspec.json.encode(RECEIPT)))
    told = msgspec.json.decode(steadhold("operations", *words.split()).stdout)
    assert told == RECEIPT | {"fence": None, "result_base64": None}
    assert server.asked == [asked]


def test_no_receipt_is_not_found(steadhold, server):
    server.then(problem(404, "operation_not_committed", next="wait", retry_after=1))
    assert "[operation_not_committed]" in steadhold("operations", "show", "op-1", code=4).stderr


def test_receipts_are_listed(steadhold, server):
    server.then(reply(200, msgspec.json.encode({"items": [RECEIPT, RECEIPT], "next_cursor": None})))
    assert len(steadhold("operations", "ls", "--limit", "1").stdout.splitlines()) == 1
    assert "state:a" in steadhold("operations", "ls", "-o", "table").stdout
