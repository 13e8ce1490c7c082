"""Which addresses may be dialled: the list of special-purpose addresses, alone and beside a public one."""

from __future__ import annotations

import json

import pytest

from steadhold.webhooks import guard
from tests.suites.conftest import suite_files, suite_root

RULES = guard.read_rules(())


def addresses():
    (path,) = suite_files(suite_root() / "net", "addresses.json", 1)
    found = json.loads(path.read_bytes())
    if len(found) < 84:
        pytest.fail(f"{path} has {len(found)} addresses of at least 84")
    return found


def firm(*, allowed):
    return [row["address"] for row in addresses() if row["allowed"] is allowed and not row.get("open")]


def test_public_addresses_may_be_dialled():
    assert [a for a in firm(allowed=True) if guard.refused("https", 443, [a], RULES)] == []


def test_all_others_may_not():
    assert [a for a in firm(allowed=False) if guard.refused("https", 443, [a], RULES) != a] == []


@pytest.mark.parametrize("order", [1, -1])
def test_one_bad_address_of_a_host_refuses_all(order):
    for bad in firm(allowed=False):
        assert guard.refused("https", 443, ["1.1.1.1", bad, "2606:4700:4700::1111"][::order], RULES) == bad


def test_open_rows_are_answered():
    told = {
        row["address"]: guard.refused("https", 443, [row["address"]], RULES) for row in addresses() if row.get("open")
    }
    assert set(told.values()) <= {None, *told}


def test_a_literal_in_a_url_is_judged_at_once():
    for bad in firm(allowed=False):
        host = f"[{bad}]" if ":" in bad else bad
        assert guard.url_fault(f"https://{host}/hook", RULES), bad
