"""How many requests a workspace may send to one server in a second."""

from __future__ import annotations

from steadhold import access
from steadhold.access.authenticate import TRUSTED_SECONDS, Bucket
from steadhold.access.model import Entitlements
from tests.access.people import by, made


async def test_a_workspaces_rate_is_kept_on_each_server(here, player, workspace, time):
    token = await made(player, workspace)
    who = await here.principal(token.text)
    assert all(here.rate(who) is None for _ in range(50))
    await player.play(
        access.put_entitlements.call(workspace, Entitlements(requests_per_second_max=2), None, by=by(token))
    )
    time.now += TRUSTED_SECONDS
    who = await here.principal(token.text)
    told = [here.rate(who) for _ in range(3)]
    assert told[:2] == [None, None]
    assert (told[2].code, told[2].headers) == ("too_many_requests", (("retry-after", "1"),))
    time.now += 0.5
    assert here.rate(who) is None
    assert here.rate(who) is not None


async def test_a_rate_that_was_taken_away_limits_nobody(here, player, workspace, time):
    token = await made(player, workspace)
    limited = Entitlements(requests_per_second_max=1)
    set_ = await player.play(access.put_entitlements.call(workspace, limited, None, by=by(token)))
    who = await here.principal(token.text)
    assert [here.rate(who) is None for _ in range(2)] == [True, False]
    await player.play(access.put_entitlements.call(workspace, Entitlements(), set_.revision, by=by(token)))
    time.now += TRUSTED_SECONDS
    who = await here.principal(token.text)
    assert all(here.rate(who) is None for _ in range(5))


def test_a_bucket_holds_a_seconds_worth_and_no_more():
    bucket = Bucket(2, 2, 0.0)
    assert [bucket.take(0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert bucket.take(0.5) == 0.0
    assert [bucket.take(100.0) for _ in range(3)] == [0.0, 0.0, 0.5]
