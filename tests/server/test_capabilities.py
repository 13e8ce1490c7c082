"""What capabilities say of how this server is set up."""

from __future__ import annotations

import pytest

from steadhold.db.house import Watch
from steadhold.db.pool import Pool
from steadhold.server.capabilities import capabilities
from steadhold.server.settings import Settings


@pytest.mark.parametrize(
    ("allow", "ports"),
    [
        ((), {"https": [443]}),
        (("https://*:8443", "https://10.0.0.0/8"), {"https": [443, 8443]}),
        (("http://127.0.0.0/8:*", "http://[::1]:8080"), {"http": None, "https": [443]}),
    ],
)
def test_ports_are_what_webhooks_may_lead_to(allow, ports):
    assert capabilities(Settings(database_url="x", webhooks_allow=allow), Watch())["ports"] == ports


@pytest.mark.parametrize(("declared", "policy"), [("", "rotate"), ("synchronous", "stay"), ("async", "rotate")])
async def test_epochs_stay_where_the_operator_declares_that_nothing_is_lost(dsn, declared, policy):
    """As any setting of a database it may come with the connection."""
    also = "&" if "?" in dsn else "?"
    async with Pool(f"{dsn}{also}options=-c%20steadhold.replication%3D{declared}", size=1) as pool, pool.connection():
        told = capabilities(Settings(database_url="x"), pool.house)
    assert told["inbox_epochs"] == policy
    assert told["incarnation"] is not None
