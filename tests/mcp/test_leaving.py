"""A client that leaves while its tool waits takes nothing with it, whichever server carries its message."""

from __future__ import annotations

import asyncio

import msgspec

from tests.mcp.test_over_http import call
from tests.server.conftest import app, key_of, settings  # noqa: F401 - fixtures
from tests.web.toy import Client


async def test_a_client_that_leaves_takes_no_job_with_it(app, workspace):  # noqa: F811
    key = await key_of(app, workspace)
    here, gone = Client(app, key), Client(app, key)
    body = msgspec.json.encode(call("job_claim", {"worker": "gone", "types": ["left"], "wait_seconds": 5}))
    accept = "application/json, text/event-stream"
    asking = asyncio.ensure_future(gone("POST", "/mcp", body, accept=accept, mcp_protocol_version="2025-11-25"))
    while not (len(app.engine.hub) or asking.done()):
        await asyncio.sleep(0)
    gone.leave()
    made = await here("POST", "/v1/jobs", b'{"type": "left"}', idempotency_key="j")
    await asking
    assert (await here("GET", f"/v1/jobs/{made.json['job_id']}")).json["state"] == "accepted"
