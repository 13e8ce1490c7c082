"""client.private: nothing that the server stores can be read, and nothing that it shows is taken on trust."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from decimal import Decimal

import httpx2
import msgspec
import pytest

from steadhold.envelopes import Bound, EnvelopeRefused, HighWater, Keyring, RolledBack, seal
from steadhold.kit import fields
from steadhold.kit.sealed import seal_of
from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.errors import (
    BadAnswer,
    EnvelopeMismatch,
    NotFound,
    PlaintextPresent,
    PlaintextRefused,
    RevisionConflict,
)
from steadhold.sdk.state import Get, Put
from tests.sdk.site import key, site  # noqa: F401 - fixtures


@contextmanager
def lying(client, raw, revision, workspace=None, before=lambda: None):
    """A server that shows an envelope of its choice for whatever is asked."""

    def answer(request):
        if request.url.path == "/v1/whoami":
            return sent(msgspec.json.encode({"workspace": workspace or whose(client)}))
        before()
        digest = fields.write_digest(hashlib.sha256(raw).digest())
        return sent(raw, etag=f'"{revision}"', revision=str(revision), **{"repr-digest": digest})

    with Client(client.url, "none", transport=httpx2.MockTransport(answer)) as liar:
        yield liar


def sent(raw, **headers):
    return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(raw))


def whose(client):
    return seal_of(client.state.get("secret/a").raw).bound.workspace


@pytest.fixture
def client(site, key):  # noqa: F811 - fixtures
    with Client(site.url, key.key) as one:
        one.prefixes.make("state", "secret")
        yield one


@pytest.fixture
def keyring():
    return Keyring.generate()


def test_a_value_is_sealed_and_opened_exactly(client, keyring):
    private = client.private(keyring).state
    assert private.create("secret/a", raw=b' {"n": 1.10}').revision == 1
    assert private.put("secret/a", Decimal("1.10"), if_revision=1).revision == 2
    found = private.get("secret/a")
    assert (found.raw, found.revision, found.value) == (b"1.10", 2, Decimal("1.10"))
    assert private.get("secret/a", revision=1).raw == b' {"n": 1.10}'
    stored = client.state.get("secret/a")
    assert stored.raw.startswith(b"eyJ")
    with pytest.raises(ValueError, match=r"a private envelope: read them with client\.private"):
        assert stored.value
    assert b"1.10" not in stored.raw
    assert [name.name for name in private.names("secret")] == ["secret/a"]


async def test_the_same_awaited(site, key, keyring):  # noqa: F811 - fixtures
    async with AsyncClient(site.url, key.key) as client:
        await client.prefixes.make("state", "secret")
        private = client.private(keyring).state
        await private.create("secret/a", 1)
        assert (await private.update("secret/a", lambda value: value + 1)).value == 2
        assert (await private.get("secret/a")).value == 2
        assert [name.name async for name in private.names()] == ["secret/a"]


def test_a_tombstone_costs_one_repeat(client, keyring):
    private = client.private(keyring).state
    private.create("secret/a", 1)
    private.delete("secret/a", if_revision=1)
    assert private.create("secret/a", 2).revision == 3
    assert private.get("secret/a").value == 2


def test_an_update_creates_and_decides_anew(client, keyring):
    private = client.private(keyring).state
    assert private.update("secret/a", lambda value: value + 1, create=0).value == 1
    rivals = iter([lambda: private.put("secret/a", 10, if_revision=1)])

    def raised(value):
        next(rivals, lambda: None)()
        return value + 1

    assert private.update("secret/a", raised).value == 11
    with pytest.raises(NotFound):
        private.update("secret/none", lambda value: value)


def test_an_update_takes_none_for_a_mistake(client, keyring):
    private = client.private(keyring).state
    private.create("secret/a", {"a": 0})
    with pytest.raises(TypeError, match="returned None"):
        private.update("secret/a", lambda found: found.update(a=1))
    assert private.get("secret/a").value == {"a": 0}


def test_who_writes_first_wins(client, keyring):
    private = client.private(keyring).state
    private.create("secret/a", 1)
    with pytest.raises(RevisionConflict):
        private.create("secret/a", 1)
    with pytest.raises(RevisionConflict):
        private.put("secret/a", 1, if_revision=7)


def test_plaintext_is_refused_both_ways(client, keyring):
    with pytest.raises(PlaintextRefused):
        client.state.create("secret/a", 1)
    private = client.private(keyring).state
    with pytest.raises(PlaintextRefused):
        private.create("open/a", 1)
    client.state.create("open/a", 1)
    with pytest.raises(EnvelopeRefused):
        private.get("open/a")
    with pytest.raises(PlaintextPresent) as told:
        client.prefixes.make("state", "open")
    assert told.value.names == ("open/a",)


def test_another_keyring_opens_nothing(client, keyring):
    client.private(keyring).state.create("secret/a", 1)
    with pytest.raises(EnvelopeRefused, match="is not in the keyring"):
        client.private(Keyring.generate()).state.get("secret/a")
    with pytest.raises(EnvelopeRefused):
        client.private(Keyring.generate()).state.update("secret/a", lambda value: value)


def test_keys_are_replaced_one_name_at_a_time(client, keyring):
    client.private(keyring).state.create("secret/a", 1)
    client.private(keyring).state.create("secret/b", 2)
    rotated = keyring.rotated()
    private = client.private(rotated).state
    assert [private.rewrap(name.name) for name in private.names()] == [True, True]
    assert [private.rewrap(name.name) for name in private.names()] == [False, False]
    only_new = client.private(rotated.without(keyring.primary.kid)).state
    assert [only_new.get(name).value for name in ("secret/a", "secret/b")] == [1, 2]
    assert private.rewrap("secret/none") is False


def test_what_the_server_shows_under_another_name_or_number_is_refused(client, keyring):
    """The server is the adversary: it stores what a neighbour's client sealed, under a name of its choice."""
    private = client.private(keyring).state
    private.create("secret/a", "mine")
    private.create("secret/b", "other")
    envelope = client.state.get("secret/b").raw
    with lying(client, envelope, 1) as liar, pytest.raises(EnvelopeRefused, match="name differ"):
        liar.private(keyring).state.get("secret/a")
    mine = client.state.get("secret/a").raw
    with lying(client, mine, 2) as liar, pytest.raises(EnvelopeRefused, match="revision differ"):
        liar.private(keyring).state.get("secret/a")


def test_a_rollback_is_found_out(client, keyring, tmp_path):
    water = tmp_path / "seen"
    private = client.private(keyring, high_water=HighWater(water)).state
    private.create("secret/a", 1)
    first = client.state.get("secret/a").raw
    private.put("secret/a", 2, if_revision=1)
    with lying(client, first, 1) as liar:
        assert liar.private(keyring).state.get("secret/a").value == 1
        with pytest.raises(RolledBack, match="revision 2 was seen"):
            liar.private(keyring, high_water=HighWater(water)).state.get("secret/a")


def test_a_prefix_is_shown_listed_and_lifted(client):
    made = client.prefixes.get("state", "secret")
    assert client.prefixes.make("state", "secret") == made
    assert list(client.prefixes.list("state")) == [made]
    with pytest.raises(RevisionConflict):
        client.prefixes.lift("state", "secret", if_revision=made.revision + 1)
    client.prefixes.lift("state", "secret", if_revision=made.revision)
    with pytest.raises(NotFound):
        client.prefixes.get("state", "secret")


def test_an_envelope_that_is_cut_is_refused_by_the_server_too(client, keyring):
    ours = Bound(workspace="w", kind="state", name="secret/a", content_type="application/json", revision=1)
    envelope = seal(keyring, ours, b"1")
    with pytest.raises(PlaintextRefused):
        client.state.create("secret/a", raw=envelope[:-1])
    (came,) = client.state.batch([Put("secret/a", raw=envelope)])
    assert (came.status, came.code, came.next_revision) == (422, "envelope_mismatch", 1)


def test_a_batch_reads_and_writes_envelopes(client, keyring):
    client.private(keyring).state.create("secret/a", 1)
    (found,) = client.state.batch([Get("secret/a")])
    assert (found.sealed.encode(), found.value) == (client.state.get("secret/a").raw, None)
    there = msgspec.structs.replace(seal_of(found.sealed.encode()).bound, revision=2)
    (came,) = client.state.batch([Put("secret/a", raw=seal(keyring, there, b"2"), if_revision=1)])
    assert came.status == 200
    assert client.private(keyring).state.get("secret/a").value == 2


@pytest.mark.parametrize("number", [0, -1, 1, 2, 2**63, 10**40, True, "7", 7.5, None])
def test_nothing_is_sealed_for_a_number_that_was(keyring, number):
    """What a liar got for an old number, it could show in place of what had that number."""
    asked = []

    def answer(request):
        asked.append(request)
        if request.url.path == "/v1/whoami":
            return sent(b'{"workspace": "w"}')
        told = {"type": "x", "title": "x", "status": 422, "code": "envelope_mismatch", "next_revision": number}
        raw = json.dumps(told).encode()
        return httpx2.Response(422, headers={"content-type": "application/problem+json"}, stream=httpx2.ByteStream(raw))

    with (
        Client("http://liar.invalid", "none", transport=httpx2.MockTransport(answer)) as liar,
        pytest.raises((BadAnswer, EnvelopeMismatch)),
    ):
        liar.private(keyring).state.put("secret/a", 1, if_revision=2)
    assert [request.method for request in asked] == ["GET", "PUT"]


@pytest.mark.parametrize("number", [0, -1, 2**63, 10**40, True])
def test_a_number_that_nothing_can_have_is_not_kept(keyring, tmp_path, number):
    def answer(_):
        told = {"type": "x", "title": "x", "status": 404, "code": "not_found", "last_revision": number}
        raw = json.dumps(told).encode()
        return httpx2.Response(404, headers={"content-type": "application/problem+json"}, stream=httpx2.ByteStream(raw))

    water = tmp_path / "seen"
    with Client("http://liar.invalid", "none", transport=httpx2.MockTransport(answer)) as liar:
        for room in ("state", "context"):
            private = liar.private(keyring, high_water=HighWater(water), workspace="w")
            with pytest.raises((BadAnswer, NotFound)):
                private.state.get("secret/a") if room == "state" else private.context.read("secret/a")
    assert HighWater(water).seen("w", "state", "secret/a") == 0


def test_a_server_is_not_believed_which_workspace_it_is(client, keyring):
    """Whose keyring opens several says which one is meant: no server shows one in place of another."""
    there = Bound(workspace="other", kind="state", name="secret/a", content_type="application/json", revision=1)
    with lying(client, seal(keyring, there, b"1"), 1, workspace="other") as liar:
        assert liar.private(keyring).state.get("secret/a").value == 1
        with pytest.raises(EnvelopeRefused, match="workspace differ"):
            liar.private(keyring, workspace="mine").state.get("secret/a")


def test_who_answers_late_is_no_liar(client, keyring, tmp_path):
    """A newer revision is seen while an older answer is on its way, of a reading and of a write alike."""
    water = HighWater(tmp_path / "seen")
    private = client.private(keyring, high_water=water).state
    private.create("secret/a", 1)
    envelope = client.state.get("secret/a").raw
    ours = seal_of(envelope).bound.workspace

    def late():
        water.saw(ours, "state", "secret/a", 9)

    with lying(client, envelope, 1, before=late) as slow:
        assert slow.private(keyring, high_water=water, workspace=ours).state.get("secret/a").value == 1
    assert water.seen(ours, "state", "secret/a") == 9
