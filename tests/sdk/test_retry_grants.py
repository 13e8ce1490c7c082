"""A change that relies on grants and has no receipt: what a refusal says depends on whether a try was lost before."""

from __future__ import annotations

import httpx2
import pytest

from steadhold.kit.fields import FenceRef
from steadhold.sdk.errors import OutcomeUnknown, StaleFence
from tests.sdk.conftest import problem

RELYING = {
    "append": lambda client, fences: client.inboxes["i"].append("t", 1, fences=fences),
    "append_bytes": lambda client, fences: client.inboxes["i"].append_bytes("t", b"x", "text/plain", fences=fences),
    "acquire": lambda client, fences: client.locks.acquire("a", fences=fences),
    "renew": lambda client, fences: client.locks.renew("a", 1, fences=fences),
    "release": lambda client, fences: client.locks.release("a", 1, fences=fences),
    "mark": lambda client, fences: client.locks.mark("a", 1, fences=fences),
    "claim": lambda client, fences: client.jobs.claim("me", ["t"], fences=fences),
    "heartbeat": lambda client, fences: client.jobs.heartbeat("j", 1, fences=fences),
    "complete": lambda client, fences: client.jobs.complete("j", 1, fences=fences),
    "abandon": lambda client, fences: client.operations.abandon("x", fences=fences),
}
STALE = problem(409, "stale_fence", subject="lock:l")


@pytest.mark.parametrize("act", RELYING.values(), ids=RELYING)
def test_a_grant_that_ended_after_a_lost_try_says_nothing_of_that_try(each_client, server, act):
    """Grants are looked at before what answers for itself: its first try may have changed it."""
    server.then(httpx2.ReadTimeout, STALE)
    with pytest.raises(OutcomeUnknown, match=r"stale_fence.*Where a grant has ended, read what it touches") as caught:
        act(each_client, [FenceRef("lock:l", 3)])
    assert isinstance(caught.value.__cause__, StaleFence)
    assert len(server.requests) == 2


@pytest.mark.parametrize("before", [(), (httpx2.ConnectError,), (problem(503, "busy", next="resend"),)])
@pytest.mark.parametrize("act", RELYING.values(), ids=RELYING)
def test_a_grant_that_had_ended_before_the_first_try_changed_nothing(each_client, server, act, before):
    server.then(*before, STALE)
    with pytest.raises(StaleFence) as caught:
        act(each_client, [FenceRef("lock:l", 3)])
    assert caught.value.subject == "lock:l"
