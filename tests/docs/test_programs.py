"""Every Python block of every page runs: here, or in the test that is named for its page."""

from __future__ import annotations

from contextlib import ExitStack

import psycopg
import pytest

from steadhold.sdk import Client
from tests.docs.blocks import ROOT, of
from tests.docs.given import GIVEN

ELSEWHERE = {
    "agents": "tests/adapters/test_guide.py",
    "README": "tests/journeys/test_readme.py",
    "envelopes": "tests/envelopes/test_guide.py",
    "library": "tests/play/test_library_page.py",
    "mcp": "tests/mcp/test_guide.py",
    "mounted": "tests/server/test_mounting.py",
    "orders": "tests/examples/test_orders.py",
    "protected-table": "tests/locks/test_recipe.py",
    "sdk": "tests/sdk/test_guide.py",
    "start": "tests/journeys/test_start.py",
    "testing": "tests/testing/test_guide.py",
    "worker": "tests/worker/test_guide.py",
}
"""Pages whose programs are all run by a test of their own, which fails where one is passed over."""
PAGES = sorted({block.page for block in of("python")} - ELSEWHERE.keys())


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_run(page, site, key, tmp_path, monkeypatch):
    """In their order, each with what it takes for given, in one workspace."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as closing:
        client = closing.enter_context(Client(site.url, key.key))
        conn = closing.enter_context(psycopg.connect(site.database.dsn))
        names = {"client": client, "conn": conn, "dsn": site.database.dsn, "psycopg": psycopg, "closing": closing}
        names |= {"url": site.url, "api_key": key.key}
        for block in of("python"):
            if block.page == page:
                exec(GIVEN.get(block.place, ""), names)
                exec(compile(block.text.replace('"acme"', repr(key.workspace)), block.name, "exec"), names)
                if not conn.closed:
                    conn.commit()
    assert names


def test_what_is_given_is_given_to_a_block():
    assert GIVEN.keys() <= {block.place for block in of("python")}


@pytest.mark.parametrize("page", sorted(ELSEWHERE))
def test_what_runs_elsewhere_has_its_test_there(page):
    assert page not in PAGES
    assert (ROOT / ELSEWHERE[page]).is_file()
