"""What docs/sdk.md shows is run, from top to bottom, against a real server."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.sdk.site import key, site  # noqa: F401 - fixtures

PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = """\
{'daily': 100}
{'daily': 100}
shop/limits 1
2.10 9007199254740993 b'{"net": 1.10, "id": 9007199254740993}'
3 {'daily': 201}
{'mood': 'fine'}
completed {'ok': True}
its revision: 1
deploy 1
held again 2
order.paid {'amount': 12} 1
['planned', 'initiated', 'unknown', 'succeeded']
coalesce 02:30
manual waiting accepted
2 ['order.placed', 'order.paid']
[{'total': '9.50'}]
5 accepted
it is at 5
"""


@pytest.fixture
def environment(monkeypatch, site, key):  # noqa: F811
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)


def test_the_page_runs(environment, capsys):
    shared = {}
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        exec(compile(block, str(PAGE), "exec"), shared)
        if "async def main" in block:
            asyncio.run(shared["main"]())
    shared["client"].close()
    assert capsys.readouterr().out == SHOWN
