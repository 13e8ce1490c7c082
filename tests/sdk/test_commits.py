"""commits by the SDK: the verbs of the rooms, noted and answered together, with either client."""

from __future__ import annotations

import re

import msgspec
import pytest

from steadhold import AsyncClient, Client
from steadhold.commits.ops import APPLY
from steadhold.kit.ids import new_id
from steadhold.sdk.approvals_shapes import Artifact
from steadhold.sdk.commits_noted import CONTENT, OPS
from steadhold.sdk.errors import MissingScope, NotFound, RevisionConflict, StaleFence
from steadhold.sdk.words import change, read
from steadhold.web.router import PARAM
from tests.sdk.site import key, site  # noqa: F401 - fixtures


@pytest.fixture
def url(request):
    return request.getfixturevalue("site").url


@pytest.fixture
def secret(request):
    return request.getfixturevalue("key").key


@pytest.fixture
def client(url, secret):
    with Client(url, secret) as made:
        yield made


def attempt(client, *notes):
    """Send a commit of what some functions note."""
    with client.commit() as commit:
        return [note(commit) for note in notes]


def creates(name):
    return lambda commit: commit.apply.state.create(name, 1)


def running(client):
    job = client.jobs.submit("t")
    (claimed,) = client.jobs.claim("w", ["t"])
    assert claimed.job_id == job.job_id
    return claimed


def test_every_op_is_known():
    """What the server can apply, the client can note; by the same names of members."""
    assert set(OPS) == set(APPLY)
    for name, (method, path) in OPS.items():
        op = APPLY[name]
        wanted = {op.members.get(param, param) for param, _ in PARAM.findall(op.route.path)}
        assert (method, set(re.compile(path).groupindex)) == (op.route.method, wanted)
    assert {name: op.content for name, op in APPLY.items() if op.content} == CONTENT


def test_results_are_those_of_the_verbs(client):
    """After the block each verb has answered what it would have alone."""
    config = client.state.create("config", 1)
    old = client.state.create("old", 1)
    job, other = running(client), running(client)
    with client.commit() as commit:
        commit.require.state.get("config", if_revision=config.revision)
        commit.require.state.get("halt", absent=True)
        commit.require.jobs.get(job.job_id, fence=job.fence, if_revision=job.revision)
        made = commit.apply.state.create("made/here", {"x": 1})
        changed = commit.apply.state.put("config", raw=b"1.10", if_revision=config.revision)
        deleted = commit.apply.state.delete("old", if_revision=old.revision)
        submitted = commit.apply.jobs.submit("next", {"n": 2**70})
        stage = commit.apply.jobs.checkpoint(other.job_id, "s", other.fence, [1])
        settled = commit.apply.jobs.complete(job.job_id, job.fence, raw=b"1e400")
        with pytest.raises(RuntimeError, match="no result"):
            _ = made.result
    assert (made.result.name, made.result.revision) == ("made/here", 1)
    assert (changed.result.revision, deleted.result.revision) == (2, 2)
    assert (stage.result.stage, settled.result.state) == ("s", "completed")
    assert client.state.get("config").raw == b"1.10"
    assert client.jobs.input(submitted.result.job_id).value == {"n": 2**70}
    assert client.jobs.result(job.job_id).raw == b"1e400"


def test_files(client):
    """A file is written with the rest, and what it is written beside is required."""
    report = client.context.write("report", b"\0\xff", if_revision=None)
    with client.commit() as commit:
        commit.require.context.get("report", if_revision=report.revision)
        commit.require.context.get("halt", absent=True)
        made = commit.apply.context.write("a b/note", "ü", if_revision=None)
        changed = commit.apply.context.write("report", b"\xff", if_revision=report.revision)
    assert (made.result.path, made.result.revision, changed.result.revision) == ("a b/note", 1, 2)
    assert (client.context.read("a b/note").text, client.context.read("report").body) == ("ü", b"\xff")
    assert client.context.read("a b/note").reference == made.result.reference
    with pytest.raises(TypeError, match="Say what is required of the path"), client.commit() as commit:
        commit.require.context.get("report")


def test_locks_and_approvals(client):
    """A lock that is required and released, an artifact that is verified and used."""
    fence = client.play(acquired("deploy"))
    with client.commit() as commit:
        commit.require.locks.get("deploy", fence=fence)
        commit.apply.state.create("a", 1)
    with pytest.raises(StaleFence) as stale:
        attempt(client, lambda commit: commit.require.locks.get("deploy", fence=fence + 1), creates("b"))
    assert (stale.value.extras["list"], stale.value.extras["index"]) == ("require", 0)
    artifact = Artifact.of("release", "1", b"bytes")
    with pytest.raises(NotFound):
        attempt(client, lambda commit: commit.require.approvals.verify(new_id(), artifact), creates("b"))


class Fence(msgspec.Struct):
    fence: int


def acquired(name):
    asked = {"owner": "me", "ttl_seconds": 30}
    return read((yield change("POST", f"/v1/locks/{name}/acquire", asked, identity="own")), Fence).fence


def test_a_refusal_changes_nothing(client):
    """The refusal is that of the item's own room, and says which item."""
    noted = []
    with pytest.raises(RevisionConflict) as lost:
        attempt(
            client,
            lambda commit: noted.append(commit.apply.state.create("a", 1)),
            lambda commit: commit.apply.state.put("b", 1, if_revision=7),
        )
    assert (lost.value.extras["list"], lost.value.extras["index"]) == ("apply", 1)
    with pytest.raises(RuntimeError, match="no result"):
        _ = noted[0].result
    with pytest.raises(NotFound):
        client.state.get("a")


def test_a_block_that_raises_sends_nothing(client):
    """An error in the block is the block's own, and nothing of it happens."""
    with pytest.raises(ZeroDivisionError):
        attempt(client, creates("a"), lambda _: 1 // 0)
    with pytest.raises(NotFound):
        client.state.get("a")


def test_a_fence_of_a_verb_is_required(client):
    """What a verb would say in its Fence header is a condition of the commit."""
    job = running(client)
    with client.commit() as commit:
        commit.require.grant(job.grant)
        commit.apply.state.create("a", 1, fences=[job.grant])
    client.jobs.complete(job.job_id, job.fence)
    with pytest.raises(StaleFence), client.commit() as commit:
        commit.apply.state.create("b", 1, fences=[job.grant])


def test_one_operation(client):
    """The same operation again is the first answer again."""
    operation = new_id()
    for n in range(2):
        with client.commit(operation_id=operation) as commit:
            made = commit.apply.state.create("a", 1)
        assert commit.replayed is bool(n)
        assert (made.result.revision, made.result.replayed) == (1, bool(n))
    assert client.operations.get(operation).committed


@pytest.mark.parametrize(
    "misuse, why",
    [
        (lambda c: c.apply.state.get("a"), "cannot hold GET"),
        (lambda c: c.apply.state.update("a", dict), "cannot hold GET"),
        (lambda c: c.apply.state.names(), "changes only"),
        (lambda c: c.apply.jobs.cancel(new_id()), "cannot hold POST"),
        (lambda c: c.require.state.get("a"), "Say what is required"),
        (lambda c: c.require.jobs.get("a"), "Say what is required"),
    ],
)
def test_misuse_is_told_in_the_block(client, misuse, why):
    """What no commit can hold is refused where it is written."""
    with pytest.raises(TypeError, match=why), client.commit() as commit:
        misuse(commit)


def test_an_empty_commit_is_told(client):
    """A commit without a change is a mistake."""
    with pytest.raises(ValueError, match="applies nothing"), client.commit() as commit:
        commit.require.state.get("a", absent=True)


def test_as_json(client):
    """A commit that is written as JSON, and what each item came to."""
    raw = b'{"apply":[{"op":"state.put","name":"a","value":1.10,"if_none_match":"*"}]}'
    (done,) = client.commits.run(raw).apply
    assert (done.op, done.status, done.revision) == ("state.put", 201, 1)
    assert client.state.get("a").raw == b"1.10"


def test_scopes_are_those_of_the_items(client, url):
    """A key that may not do an item alone may not do it here."""
    narrow = client.keys.create("reader", "service", ["state:read"])
    with Client(url, narrow.key) as reader:
        with pytest.raises(MissingScope) as missing:
            attempt(reader, creates("a"))
        assert missing.value.extras["index"] == 0


async def awaited(client, *notes):
    async with client.commit() as commit:
        return [note(commit) for note in notes]


async def test_async(url, secret):
    """The same, awaited at the end of the block."""
    async with AsyncClient(url, secret) as client:
        _, made = await awaited(client, lambda commit: commit.require.state.get("b", absent=True), creates("a"))
        assert made.result.revision == 1
        with pytest.raises(RevisionConflict):
            await awaited(client, creates("a"))
        with pytest.raises(ZeroDivisionError):
            await awaited(client, creates("b"), lambda _: 1 // 0)
        assert [name.name async for name in client.state.names()] == ["a"]
