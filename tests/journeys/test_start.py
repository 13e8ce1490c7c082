"""docs/start.md, done block by block as README.md's five minutes are."""

from __future__ import annotations

from pathlib import Path

import psycopg

from steadhold import Client
from tests.journeys.test_readme import BLOCK, reader  # noqa: F401 - a fixture

PAGE = (Path(__file__).parents[2] / "docs" / "start.md").read_text(encoding="utf-8")


def test_each_block_does_what_the_page_says(reader, capfd):  # noqa: F811 - a fixture
    for language, block in BLOCK.findall(PAGE):
        reader.do(language, block)

    assert capfd.readouterr().out.splitlines() == [
        "somebody was faster: it is at revision 2",
        "1 {'order': 7}",
        "behind by 0",
    ]
    with Client() as client, psycopg.connect(reader.told["database_url"]) as conn:
        assert [client.state.get(name).value for name in ("budget", "release")] == [{"daily": 2}, {"version": 42}]
        assert len(list(client.jobs.list(type="report"))) == 2
        assert len(list(client.jobs.list(type="invoice"))) == 1
        assert conn.execute("select n from orders").fetchall() == [(41,)]
