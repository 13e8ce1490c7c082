"""Secrets of webhooks stand nowhere in the clear: not in a row, not in a receipt, an event, an attempt or a log."""

from __future__ import annotations

import base64
import uuid

import pytest
from psycopg import sql

from steadhold import Problem
from steadhold.sdk import Client
from steadhold.server.settings import Settings
from steadhold.testing.database import copied
from tests.sdk.site import operator_key, served
from tests.webhooks.listener import listening

pytestmark = [pytest.mark.database]

OWN = "Bearer kept-sealed-0f1e2d3c"


def forms(secret):
    """How a secret may stand in the text of a row: as it is, in hexadecimal digits, and what it encodes."""
    plain = [secret.encode()]
    if secret.startswith("wh"):
        plain += [secret.partition("_")[2].encode(), base64.b64decode(secret.partition("_")[2])]
    return [form for each in plain for form in (each.decode("latin-1"), each.hex())]


def everything(database):
    """Each row of each table, as text."""
    with database.connect() as conn:
        tables = conn.execute("select tablename from pg_tables where schemaname = 'steadhold'").fetchall()
        for (table,) in tables:
            query = sql.SQL("select t::text from steadhold.{} t").format(sql.Identifier(table))
            for (row,) in conn.execute(query):
                yield table, row


def test_secrets_stand_nowhere_in_the_clear(server_run, capfd):
    with copied(server_run, "webhook_secrets") as database, listening() as receiver:
        key = base64.b64encode(bytes(range(32))).decode()
        settings = Settings(
            database_url=database.dsn, port=0, pool_size=6, sealing_key=key, webhooks_allow=("http://127.0.0.0/8:*",)
        )
        with served(settings) as url:
            with Client(url, operator_key(database)) as operator:
                made = operator.workspaces.create("w")
            with Client(url, made.key) as client:
                secrets = use(client, receiver)
        tables = {table for table, _ in everything(database)}
        leaks = [
            (table, secret[:9]) for table, row in everything(database) for secret in secrets
            if any(form in row for form in forms(secret))
        ]  # fmt: skip
    assert leaks == []
    assert {"webhooks", "webhook_secrets", "attempts", "receipts", "events"} <= tables
    said = "".join(capfd.readouterr())
    assert [secret[:9] for secret in (*secrets, key) if any(form in said for form in forms(secret))] == []


def use(client, receiver):
    """Make, rotate, change, fail, try and send again; what was secret in it."""
    receiver.status = 500
    first = client.webhooks.create(
        receiver.url, ["job.*"], headers={"Authorization": OWN}, asymmetric=True, operation_id="one", retry_seconds=[0]
    )
    client.webhooks.create(receiver.url, ["job.*"], headers={"Authorization": OWN}, asymmetric=True, operation_id="one",
                           retry_seconds=[0])  # fmt: skip
    second = client.webhooks.rotate(first.webhook_id, grace_seconds=600)
    changed = client.webhooks.change(first.webhook_id, if_revision=second.revision, headers={"X-Own": OWN})
    for headers in ({"Host": OWN}, {"X-Own": f"{OWN}\r\nx: y"}):
        with pytest.raises(Problem) as refused:
            client.webhooks.change(first.webhook_id, if_revision=changed.revision, headers=headers)
        assert OWN not in str(refused.value)
    client.webhooks.enable(first.webhook_id)
    placed = client.webhooks.ping(first.webhook_id)
    client.jobs.submit("report", {}, unique_key=uuid.uuid4().hex)
    assert dict(receiver.some(2)[0][0])["X-Own"] == OWN
    while client.webhooks.delivery(placed.delivery_id).state == "pending":
        pass
    client.webhooks.resend(placed.delivery_id)
    client.webhooks.disable(first.webhook_id)
    return first.secret, second.secret, OWN
