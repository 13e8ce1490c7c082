"""The door of agents in an application of somebody else's, under a path of its own."""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.mcp.test_over_http import FIELDS, call
from tests.server.conftest import app, key_of, settings  # noqa: F401 - fixtures
from tests.web.toy import Client


async def test_an_agent_comes_in_where_steadhold_is_mounted(app, workspace):  # noqa: F811
    outer = Client(Starlette(routes=[Mount("/tools", app)]), await key_of(app, workspace))
    fields = {name.replace("-", "_"): value for name, value in FIELDS.items()}
    for name, arguments in (("state_put", {"name": "a", "value": 1, "if_revision": 0}), ("state_get", {"name": "a"})):
        got = await outer("POST", "/tools/mcp", msgspec.json.encode(call(name, arguments)), host="here", **fields)
        answer = got.json["result"]["structuredContent"]
        assert answer["answer"]["ok"], got.json
    assert answer["stored"]["text"] == "1"
    assert (await outer("POST", "/mcp", b"{}", **fields)).status == 404


async def test_without_the_extra_there_is_no_door(app, workspace, monkeypatch):  # noqa: F811
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="mcp")

    monkeypatch.setattr("steadhold.server.agents.importlib.import_module", absent)
    got = await Client(app, await key_of(app, workspace))("POST", "/mcp", b"{}")
    assert (got.status, got.code) == (404, "not_found")
    assert "extra `mcp`" in got.json["detail"]
