"""Who presents a key: found, remembered briefly, and gone within the bound once it ends, on every server."""

from __future__ import annotations

import asyncio
import math

import pytest

from steadhold import access
from steadhold.access import authenticate, plans
from steadhold.access.authenticate import TRUSTED_SECONDS, Keyring, permits, within
from steadhold.access.model import HOUSE
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import new_id
from steadhold.kit.limits import REVOCATION_SECONDS_MAX
from steadhold.play.single import Unavailable
from tests.access.people import Counted, a_token, by, made


def forged(token):
    """The same key with another secret."""
    return Token(token.env, token.key_id, secret_of(b"\1" * 32))


async def test_a_key_tells_who_asks(here, player, workspace):
    token = await made(player, workspace, scopes=("state:read:a", "jobs:*"))
    who = await here.principal(token.text)
    assert (who.workspace, who.subject, who.key_id, who.kind) == (workspace, "boss", token.key_id, "person")
    assert who.scopes == ("state:read:a", "jobs:*")
    assert permits(who, "state:read", "a/b")
    assert not permits(who, "state:read", "b")
    assert not permits(who, "state:read")
    assert (bool(within(who, "state:read")), bool(within(who, "state:write"))) == (True, False)


async def test_an_operators_key_belongs_to_no_workspace(here, player):
    token = await made(player, HOUSE, kind="operator")
    who = await here.principal(token.text)
    assert (who.workspace, who.kind) == (None, "operator")
    assert here.rate(who) is None


@pytest.mark.parametrize("text", ["", "sh_live_x", "Bearer x", "x" * 256])
async def test_what_is_no_key_asks_nothing(here, text):
    assert await here.principal(text) is None
    assert here._player.asked == []


async def test_a_wrong_secret_is_nobody(here, player, workspace):
    token = await made(player, workspace)
    assert await here.principal(forged(token).text) is None
    assert await here.principal(a_token().text) is None
    assert await here.principal(token.text) is not None


async def test_the_mark_of_a_key_is_no_part_of_its_secret(here, player, workspace):
    token = await made(player, workspace)
    assert await here.principal(Token("test", token.key_id, token.secret).text) is not None


async def test_an_unknown_key_is_compared_like_a_known_one(here, player, workspace, monkeypatch):
    """Both kinds take one look-up and two comparisons over equally many bytes: no branch tells them apart before."""
    token = await made(player, workspace)
    compared = []

    def compare(a, b):
        compared.append((len(a), len(b)))
        return a == b

    monkeypatch.setattr("steadhold.access.token.hmac.compare_digest", compare)
    seen = {}
    for name, text in (("known", forged(token).text), ("unknown", a_token().text)):
        compared.clear()
        here._player.asked.clear()
        assert await here.principal(text) is None
        seen[name] = (list(compared), list(here._player.asked))
    assert seen["known"] == seen["unknown"] == ([(32, 32), (32, 32)], ["access.find_key"])


async def test_what_was_read_is_trusted_for_a_while(here, player, workspace, time):
    token = await made(player, workspace)
    for _ in range(3):
        assert await here.principal(token.text)
    assert here._player.asked == ["access.find_key"]
    time.now += TRUSTED_SECONDS
    assert await here.principal(token.text)
    assert here._player.asked == ["access.find_key"] * 2


async def test_a_revocation_reaches_every_server_within_the_bound(here, player, workspace, time):
    elsewhere = Keyring(Counted(player), now=time)
    token = await made(player, workspace)
    assert await here.principal(token.text)
    assert await elsewhere.principal(token.text)
    await player.play(access.revoke_key.call(workspace, token.key_id, by=by(token)))
    here.forget(token.key_id)
    assert await here.principal(token.text) is None
    assert await elsewhere.principal(token.text) is not None
    time.now += TRUSTED_SECONDS
    assert await elsewhere.principal(token.text) is None


def test_a_long_poll_that_asks_again_ends_within_the_bound():
    """It asks at least as often as what it is told is trusted: then its key has been gone for no longer than that."""
    assert 2 * TRUSTED_SECONDS <= REVOCATION_SECONDS_MAX


async def test_a_new_key_works_at_once_where_it_was_made(here, player, workspace):
    token = a_token()
    assert await here.principal(token.text) is None
    wanted = {"env": "live", "subject": "boss", "kind": "person", "scopes": ("*:*",)}
    await player.play(access.import_key.call(workspace, token.key_id, token.hash, **wanted))
    assert await here.principal(token.text) is None
    here.forget(token.key_id)
    assert await here.principal(token.text) is not None


async def test_what_was_asked_before_a_key_changed_is_not_remembered(here, player, workspace):
    token = await made(player, workspace)
    here._player.gate.clear()
    asking = asyncio.create_task(here.principal(token.text))
    while not here._player.asked:
        await asyncio.sleep(0)
    here.forget(token.key_id)
    here._player.gate.set()
    assert await asking
    assert await here.principal(token.text)
    assert here._player.asked == ["access.find_key"] * 2


async def test_many_requests_ask_once(here, player, workspace):
    token = await made(player, workspace)
    assert all(await asyncio.gather(*(here.principal(token.text) for _ in range(20))))
    assert here._player.asked == ["access.find_key"]


async def test_whoever_leaves_ends_the_look_up_for_nobody_else(here, player, workspace):
    token = await made(player, workspace)
    here._player.gate.clear()
    first, second = (asyncio.create_task(here.principal(token.text)) for _ in range(2))
    while not here._player.asked:
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    here._player.gate.set()
    assert await second
    assert first.cancelled()


async def test_made_up_ids_take_only_some_connections(here):
    here._player.gate.clear()
    asking = [asyncio.create_task(here.principal(a_token().text)) for _ in range(30)]
    while len(here._looks) < 30 or len(here._player.asked) < authenticate.LOOKS_MAX:
        await asyncio.sleep(0)
    assert len(here._player.asked) == authenticate.LOOKS_MAX
    here._player.gate.set()
    assert await asyncio.gather(*asking) == [None] * 30


async def test_what_is_remembered_is_bounded(here, monkeypatch):
    monkeypatch.setattr(authenticate, "REMEMBERED_MAX", 5)
    for _ in range(12):
        assert await here.principal(a_token().text) is None
    assert len(here._seen) == 5
    assert here._looks == {}


async def test_without_the_database_nobody_is_let_in_and_nothing_is_remembered(here, player, workspace, time):
    token = await made(player, workspace)
    assert await here.principal(token.text)
    time.now += TRUSTED_SECONDS
    here._player.cut = True
    with pytest.raises(Unavailable):
        await here.principal(token.text)
    here._player.cut = False
    assert await here.principal(token.text)


async def test_a_rotated_secret_serves_for_its_grace(here, player, workspace, time):
    token = await made(player, workspace)
    fresh = forged(token)
    await player.play(access.rotate_key.call(workspace, token.key_id, fresh.hash, grace_seconds=1.0, by=by(token)))
    assert await here.principal(fresh.text)
    assert await here.principal(token.text)
    time.now += 1.0
    assert await here.principal(fresh.text)
    assert await here.principal(token.text) is None


async def test_a_key_ends_with_its_expiry_while_it_is_trusted(here, player, workspace, time):
    boss, token = await made(player, workspace), a_token()
    wanted = {"subject": "robot", "kind": "service", "scopes": (), "expires_in_seconds": 1.0}
    await player.play(access.make_key.call(workspace, token.key_id, token.hash, **wanted, by=by(boss)))
    assert await here.principal(token.text)
    time.now += 1.0
    assert await here.principal(token.text) is None
    assert here._player.asked == ["access.find_key"]


async def test_use_is_written_down_later_and_once(here, player, workspace, time):
    async def last_used():
        return (await player.play(access.key.call(workspace, token.key_id))).last_used_at

    token = await made(player, workspace)
    await here.principal(forged(token).text)
    await here.note()
    assert await last_used() is None
    for _ in range(3):
        await here.principal(token.text)
    await here.note()
    assert await last_used() is not None
    time.now += TRUSTED_SECONDS
    await here.principal(token.text)
    await here.note()
    assert here._player.asked.count("access.note_used") == 1


async def test_a_workspace_is_known_once_it_is_there(here, workspace):
    assert not await here.known(f"no-{key_id_of(new_id()).lower()}")
    assert await here.known(workspace)
    assert await here.known(workspace)
    assert here._player.asked == ["access.known"] * 2


def test_what_nothing_was_read_of_opens_for_nobody():
    seen = authenticate.Seen.of(None, 0.0)
    assert (seen.who, seen.hash, seen.ends_at) == (None, authenticate.NO_HASH, -math.inf)
    assert plans.find_key.name == "access.find_key"
