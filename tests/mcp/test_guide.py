"""The guide says what is so, and its program runs."""

from __future__ import annotations

import re
from importlib.resources import files

from steadhold.mcp.table import TOOLS
from steadhold.mcp.telling import NEXT, OUTPUT
from steadhold.sdk import Client

GUIDE = files("steadhold.mcp").joinpath("guide.md").read_text(encoding="utf-8")


def test_each_tool_stands_with_its_door_and_its_hints():
    told = re.findall(r"^\| `(\w+)` \| `([A-Z]+ /v1/[^`]+)` \| ([rds ]*)\|$", GUIDE, re.MULTILINE)
    hints = [
        (
            tool.name,
            tool.does,
            [mark for mark, yes in zip("rds", (tool.reads, tool.destroys, tool.same), strict=True) if yes],
        )
        for tool in TOOLS
    ]
    assert [(name, does, marks.split()) for name, does, marks in told] == hints


def test_each_member_of_an_answer_is_told():
    for part in ("answer", "stored"):
        for name in OUTPUT["properties"][part]["properties"].keys() - {"title", "retry_after_seconds", "rest"}:
            assert f'"{name}"' in GUIDE or f"`{name}`" in GUIDE, name
    assert all(f"`{following}`" in GUIDE for following in NEXT)


async def test_the_program_runs(site, key, monkeypatch):
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)
    names = {}
    exec(compile(program, "guide", "exec"), names)
    assert await names["main"]() is None
    with Client(site.url, key.key) as client:
        assert client.state.get("notes/plan").value == {"step": 1}
