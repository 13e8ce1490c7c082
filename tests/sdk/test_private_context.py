"""client.private(…).context: files that the server keeps and cannot read, small and large."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import tarfile

import pytest
from click.testing import CliRunner

from steadhold.cli.program import program
from steadhold.envelopes import Bound, EnvelopeRefused, HighWater, Keyring, seal
from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.approvals import Artifact
from steadhold.sdk.errors import EnvelopeMismatch, PlaintextPresent, PlaintextRefused, Problem, RevisionConflict
from tests.sdk.site import key, site  # noqa: F401 - fixtures

LARGE = 3 * 1024 * 1024
"""More than is written at once: it comes piece by piece."""


@pytest.fixture
def client(site, key):  # noqa: F811 - fixtures
    with Client(site.url, key.key) as one:
        one.prefixes.make("context", "secret")
        yield one


@pytest.fixture
def keyring():
    return Keyring.generate()


@pytest.mark.parametrize("body", [b"", b"notes", secrets.token_bytes(LARGE)], ids=["none", "few", "many"])
def test_bytes_are_sealed_and_opened_exactly(client, keyring, body):
    private = client.private(keyring).context
    made = private.write("secret/a", body, if_revision=None, content_type="application/pdf")
    found = private.read("secret/a")
    assert (found.body, found.revision, found.content_type) == (body, made.revision, "application/pdf")
    stored = client.context.read("secret/a")
    assert (stored.content_type, stored.body[:3]) == ("application/jose", b"eyJ")


def test_a_reference_names_what_the_server_has(client, keyring):
    """And says nothing about what is in it: the digest of a few bytes is as good as they are."""
    private = client.private(keyring).context
    made = private.write("secret/a", b"yes", if_revision=None)
    found = private.read("secret/a")
    assert found.digest == hashlib.sha256(b"yes").digest()
    assert found.digest.hex() not in found.reference
    assert found.reference == made.reference == client.context.read("secret/a").reference
    artifact = Artifact.of_file(found)
    assert artifact == Artifact.of_file(client.context.read("secret/a"))
    asked = client.approvals.request(artifact, action="read", title="May I?", approvers=["x"], expires_in_seconds=60)
    assert (asked.state, asked.artifact.reference) == ("pending", made.reference)
    job = client.jobs.submit("t", input_ref=found.reference)
    assert client.context.resolve(client.jobs.get(job.job_id).input_ref) == client.context.read("secret/a").body


async def test_the_same_awaited(site, key, keyring):  # noqa: F811 - fixtures
    async with AsyncClient(site.url, key.key) as client:
        await client.prefixes.make("context", "secret")
        private = client.private(keyring).context
        await private.write("secret/a", "one", if_revision=None)
        await private.edit("secret/a", lambda body: body + b" two")
        assert (await private.read("secret/a")).text == "one two"
        assert [found.path async for found in private.files("secret")] == ["secret/a"]


def test_an_edit_creates_and_decides_anew(client, keyring):
    private = client.private(keyring).context
    private.edit("secret/a", lambda body: body + b"1", create=b"")
    rivals = iter([lambda: private.write("secret/a", b"9", if_revision=1)])

    def more(body):
        next(rivals, lambda: None)()
        return body + b"2"

    private.edit("secret/a", more)
    assert private.read("secret/a").body == b"92"
    private.append("secret/a", "3")
    assert private.read("secret/a").body == b"923"


def test_a_deletion_and_a_creation_over_it(client, keyring):
    private = client.private(keyring).context
    private.write("secret/a", b"1", if_revision=None)
    gone = private.delete("secret/a", if_revision=1)
    assert private.write("secret/a", b"2", if_revision=None).revision == gone + 1
    with pytest.raises(RevisionConflict):
        private.write("secret/a", b"3", if_revision=1)


@pytest.mark.parametrize("size", [1, LARGE], ids=["few", "many"])
def test_plaintext_is_refused_both_ways(client, keyring, size):
    with pytest.raises(PlaintextRefused):
        client.context.write("secret/a", b"x" * size, if_revision=None)
    with pytest.raises(PlaintextRefused):
        client.context.write("secret/a", b"x" * size, if_revision=None, content_type="application/jose")
    client.context.write("open/a", b"x" * size, if_revision=None)
    with pytest.raises(EnvelopeRefused):
        client.private(keyring).context.read("open/a")
    with pytest.raises(PlaintextPresent):
        client.prefixes.make("context", "open")


@pytest.mark.parametrize("size", [1, LARGE], ids=["few", "many"])
@pytest.mark.parametrize("wrong", [{"name": "secret/b"}, {"revision": 2}, {"kind": "state"}, {"workspace": "other"}])
def test_an_envelope_of_another_place_is_not_stored(client, key, keyring, size, wrong):  # noqa: F811
    said = {"workspace": key.workspace, "kind": "context", "name": "secret/a", "revision": 1, **wrong}
    envelope = seal(keyring, Bound(content_type="text/plain", **said), b"x" * size)
    with pytest.raises(EnvelopeMismatch) as told:
        client.context.write("secret/a", envelope, if_revision=None, content_type="application/jose")
    assert told.value.next_revision == 1
    assert list(client.context.files()) == []


@pytest.mark.parametrize("at", [0, 40, -30, -1])
def test_a_large_envelope_that_is_damaged_is_not_stored(client, key, keyring, at):  # noqa: F811
    bound = Bound(workspace=key.workspace, kind="context", name="secret/a", content_type="text/plain", revision=1)
    envelope = bytearray(seal(keyring, bound, b"x" * LARGE))
    envelope[at] = ord("!")
    with pytest.raises(PlaintextRefused):
        client.context.write("secret/a", bytes(envelope), if_revision=None, content_type="application/jose")


def test_what_is_sealed_moves_nowhere(client, keyring):
    client.private(keyring).context.write("secret/a", b"1", if_revision=None)
    client.context.write("open", b"1", if_revision=None)
    for source, target in (("secret/a", "secret/b"), ("secret/a", "out"), ("open", "secret/b")):
        with pytest.raises(Problem) as told:
            client.context.move(source, target, if_revision=1)
        assert told.value.code == "rewrap_needed"


def _archive(files):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, body, kind in files:
            entry = tarfile.TarInfo(path)
            entry.size, entry.pax_headers = len(body), {"STEADHOLD.content_type": kind}
            tar.addfile(entry, io.BytesIO(body))
    return raw.getvalue()


def test_an_import_changes_no_name_and_no_revision_of_what_is_sealed(client, key, keyring):  # noqa: F811
    def sealed(name, revision):
        where = {"workspace": key.workspace, "kind": "context", "content_type": "text/plain"}
        return seal(keyring, Bound(name=name, revision=revision, **where), b"1")

    came = client.context.import_files(
        _archive(
            [
                ("secret/a", sealed("secret/a", 1), "application/jose"),
                ("secret/b", sealed("secret/a", 1), "application/jose"),
                ("secret/c", sealed("secret/c", 7), "application/jose"),
                ("secret/d", b"plain", "text/plain"),
            ]
        )
    )
    assert [(one.path, one.code) for one in came.files] == [
        ("secret/a", None),
        ("secret/b", "rewrap_needed"),
        ("secret/c", "rewrap_needed"),
        ("secret/d", "plaintext_refused"),
    ]


def test_keys_are_replaced_and_a_rollback_is_found_out(client, site, key, keyring, tmp_path, monkeypatch):  # noqa: F811
    private = client.private(keyring, high_water=HighWater(tmp_path / "seen")).context
    for name in ("a", "b"):
        private.write(f"secret/{name}", b"1", if_revision=None, content_type="image/png")
    rotated = keyring.rotated()
    rotated.save(tmp_path / "keys")
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)
    words = ["keys", "rewrap", "secret", "--kind", "context", "--keyring", str(tmp_path / "keys")]
    told = CliRunner().invoke(program, words, catch_exceptions=False)
    assert json.loads(told.stdout) == {"prefix": "secret", "seen": 2, "rewrapped": 2, "refused": []}
    new = client.private(rotated.without(keyring.primary.kid)).context
    assert (new.read("secret/a").body, new.read("secret/a").content_type) == (b"1", "image/png")
    with pytest.raises(EnvelopeRefused):
        private.read("secret/a")


def test_an_import_over_a_file_says_what_to_do(client):
    client.context.write("open/a", b"1", if_revision=None)
    (came,) = client.context.import_files(_archive([("open/a", b"2", "text/plain")])).files
    assert came.code == "condition_false"
    assert came.detail.startswith("There is a file at this path; the record STEADHOLD.if_match names")
