"""Who makes a prefix private and who lifts one stands in the audit, and nobody who changed nothing."""

from __future__ import annotations

import pytest

from steadhold.sdk import Client
from steadhold.sdk.errors import RevisionConflict
from tests.sdk.site import key, site  # noqa: F401 - fixtures


@pytest.fixture
def client(site, key):  # noqa: F811
    with Client(site.url, key.key) as made:
        yield made


@pytest.mark.parametrize("kind", ["state", "context"])
def test_who_makes_one_and_who_lifts_it_stands_in_the_audit(client, key, kind):  # noqa: F811
    made = client.prefixes.make(kind, "team/secret", operation_id="op-1")
    assert client.prefixes.make(kind, "team/secret") == made
    with pytest.raises(RevisionConflict):
        client.prefixes.lift(kind, "team/secret", if_revision=made.revision + 1)
    client.prefixes.lift(kind, "team/secret", if_revision=made.revision, operation_id="op-2")
    record = list(client.audit.list(resource=f"prefix:{kind}/team/secret"))
    assert [(row.kind, row.subject, row.key_id, row.operation_id) for row in record] == [
        ("prefix.lifted", key.subject, key.key_id, "op-2"),
        ("prefix.made", key.subject, key.key_id, "op-1"),
    ]
