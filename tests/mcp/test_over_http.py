"""`/mcp` as any door: key, scopes, limits, hosts; nothing is remembered between two messages."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest

from steadhold.kit import limits
from steadhold.kit.ids import new_id
from steadhold.sdk import Client
from tests.mcp.agents import over_http

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
FIELDS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


def call(name, arguments):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def post(site, key, message=LIST, **fields):
    with httpx2.Client(trust_env=False) as http:
        headers = {"authorization": f"Bearer {key}", **FIELDS, **{n.replace("_", "-"): v for n, v in fields.items()}}
        return http.post(f"{site.url}/mcp", json=message, headers=headers)


def waiters(site):
    """How many long polls wait at the server."""
    with httpx2.Client(trust_env=False) as http:
        (line,) = (
            line for line in http.get(f"{site.url}/metrics").text.splitlines() if line.startswith("steadhold_waiters ")
        )
        return float(line.split()[1])


def key_with(site, key, *scopes, kind="service"):
    """A new key of the workspace, and its id."""
    with Client(site.url, key.key) as owner:
        made = owner.keys.create(f"s-{new_id()}", kind, scopes)
        return made.key, made.key_id


@pytest.mark.parametrize("sent", ["sh_test_none", "x", "x" * 300])
def test_without_a_valid_key_nobody_comes_in(site, sent):
    answer = post(site, sent)
    assert answer.status_code == 401
    assert answer.json()["code"] == "no_valid_key"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_session_to_listen_to_or_to_end(site, key, method):
    with httpx2.Client(trust_env=False) as http:
        answer = http.request(method, f"{site.url}/mcp", headers={"authorization": f"Bearer {key.key}"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_message_needs_none_before_it_and_leaves_no_session(site, key):
    answer = post(site, key.key)
    assert "mcp-session-id" not in answer.headers
    assert len(answer.json()["result"]["tools"]) > 40


@pytest.mark.parametrize("origin, status", [
    ("https://evil.example", 403), ("null", 403), ("http://127.0.0.1.evil.example", 403), ("http://[::1", 403),
    ("{url}", 200),
])  # fmt: skip
def test_a_page_of_another_site_is_refused(site, key, origin, status):
    """With 403, as the protocol demands."""
    answer = post(site, key.key, origin=origin.format(url=site.url))
    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "foreign_origin"


@pytest.mark.parametrize("mode, version", [
    ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"), ("auto", "2026-07-28"),
])  # fmt: skip
async def test_protocols_with_and_without_a_handshake_are_spoken(site, key, mode, version):
    async with over_http(site.url, key.key, mode) as agent:
        assert agent.client.protocol_version == version
        assert (await agent.do("whoami")).data["workspace"] == key.workspace
        await agent.refused("state_get", "not_found", name="none")


def test_a_message_that_is_too_large_is_refused(site, key):
    answer = post(site, key.key, call("state_get", {"name": "x" * limits.BODY_BYTES_MAX}))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("depth", [900, 5_000, 200_000])
def test_a_message_that_is_nested_too_deeply_is_refused(site, key, version, depth):
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % (b"[" * depth + b"]" * depth)
    with httpx2.Client(trust_env=False) as http:
        fields = {**FIELDS, "authorization": f"Bearer {key.key}", "mcp-protocol-version": version}
        answer = http.post(f"{site.url}/mcp", content=body, headers={**fields, "content-type": "application/json"})
    assert answer.status_code == 400


async def test_half_a_character_is_refused(site, key):
    """The newer protocol lets it through to the tool."""
    message = call("state_list", {"prefix": "\ud800"})
    version = "io.modelcontextprotocol/protocolVersion"
    message["params"]["_meta"] = {version: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    fields = {"mcp-method": "tools/call", "mcp-name": "state_list", "mcp-protocol-version": "2026-07-28"}
    with httpx2.Client(trust_env=False) as http:
        headers = {"authorization": f"Bearer {key.key}", **FIELDS, **fields, "content-type": "application/json"}
        answer = http.post(f"{site.url}/mcp", content=json.dumps(message), headers=headers)
    assert answer.json()["result"]["structuredContent"]["answer"]["code"] == "bad_member"


async def test_an_unknown_tool_and_malformed_arguments_are_told(site, key):
    unknown = post(site, key.key, call("state_burn", {})).json()
    assert unknown["error"]["code"] == -32602
    refused = post(site, key.key, call("state_get", {"nam": "a"})).json()["result"]
    assert refused["isError"] is True
    assert refused["structuredContent"]["answer"]["code"] == "bad_member"


async def test_a_tool_may_do_what_the_key_may_do(site, key):
    reader, _ = key_with(site, key, "state:read:open")
    with Client(site.url, key.key) as owner:
        owner.state.create("open/a", 1)
        owner.state.create("shut/a", 2)
    async with over_http(site.url, reader) as agent:
        assert (await agent.do("state_get", name="open/a")).data == 1
        await agent.refused("state_get", "missing_scope", name="shut/a")
        await agent.refused("state_put", "missing_scope", name="open/a", value=3, if_revision=1)
        await agent.refused("job_submit", "missing_scope", type="t")
        names = (await agent.do("state_list")).data["items"]
        assert [one["name"] for one in names] == ["open/a"]


async def test_another_workspace_is_not_there(site, key):
    other = site.workspace()
    with Client(site.url, other.key) as owner:
        owner.state.create("a", "theirs")
    async with over_http(site.url, key.key) as agent:
        told = await agent.refused("state_get", "not_found", name="a")
        assert "theirs" not in told.text


async def test_an_operation_id_makes_a_repeat_the_same(site, key):
    async with over_http(site.url, key.key) as agent:
        said = {"type": "t", "input": {"n": 1}, "operation_id": new_id()}
        first, again = await agent.do("job_submit", **said), await agent.do("job_submit", **said)
        assert again.facts["replayed"] is True
        assert (first.text, first.facts["operation_id"]) == (again.text, said["operation_id"])
        assert len((await agent.do("job_list", type="t")).data["items"]) == 1
        await agent.refused("job_submit", "operation_mismatch", **{**said, "input": {"n": 2}})


async def test_without_an_operation_id_one_is_made_and_told(site, key):
    async with over_http(site.url, key.key) as agent:
        made = (await agent.do("job_submit", type="t")).facts["operation_id"]
        assert (await agent.do("operation_get", operation_id=made)).data["state"] == "committed"


async def test_a_change_relies_on_a_grant(site, key):
    async with over_http(site.url, key.key) as agent:
        fence = (await agent.do("lock_acquire", name="l", owner="me", ttl_seconds=30)).data["fence"]
        grant = [{"grant": "lock:l", "fence": fence}]
        await agent.do("state_put", name="a", value=1, if_revision=0, fences=grant)
        await agent.do("lock_release", name="l", fence=fence)
        told = await agent.refused("state_put", "stale_fence", name="a", value=2, if_revision=1, fences=grant)
        assert told.facts["next"] == "stop"


async def test_a_long_document_is_read_to_its_end(site, key):
    text = json.dumps(["word" * 10] * 2_000)
    async with over_http(site.url, key.key) as agent:
        await agent.do("state_put", name="long", value_json=text, if_revision=0)
        read, offset = "", 0
        while offset is not None:
            part = await agent.do("state_get", name="long", offset=offset)
            read, offset = read + part.text, part.stored["next_offset"]
        assert read == text


async def test_a_long_answer_to_a_change_is_read_on_by_its_operation(site, key):
    async with over_http(site.url, key.key) as agent:
        said = {"apply": [{"op": "state.put", "name": f"n{n}", "value": 1, "if_none_match": "*"} for n in range(40)]}
        first = await agent.do("commit", **said)
        rest = await agent.do("commit", **said, operation_id=first.facts["operation_id"], offset=100)
        assert rest.facts["replayed"] is True
        assert first.text[100:] == rest.text


async def test_a_wait_ends_when_the_job_does(site, key):
    async with over_http(site.url, key.key) as agent:
        job = (await agent.do("job_submit", type="w")).data["job_id"]
        waiting = asyncio.ensure_future(agent.do("job_wait", job_id=job, wait_seconds=30))
        (claimed,) = (await agent.do("job_claim", worker="w", types=["w"])).data["jobs"]
        outcome = {"state": "completed", "result": {"n": 1}}
        await agent.do("job_settle", job_id=job, fence=claimed["fence"], outcome=outcome)
        assert (await waiting).data["state"] == "completed"


async def test_a_revoked_key_ends_what_its_agent_waits_for(site, key):
    other, key_id = key_with(site, key, "approvals:*")
    async with over_http(site.url, other) as agent:
        artifact = {"reference": "r", "version": "1", "hash": "sha256:" + "0" * 64}
        asked = await agent.do("approval_request", artifact=artifact, action="a", title="t", expires_in_seconds=600)
        before = await asyncio.to_thread(waiters, site)
        waiting = asyncio.ensure_future(agent.ask("approval_wait", approval_id=asked.data["approval_id"]))
        while await asyncio.to_thread(waiters, site) == before:
            assert not waiting.done()
        with Client(site.url, key.key) as owner:
            await asyncio.to_thread(owner.keys.revoke, key_id)
        told = await waiting
        assert told.facts["code"] == "no_valid_key"
    assert post(site, other).status_code == 401


async def test_each_message_counts_against_the_rate(site, key):
    with Client(site.url, site.operator_key, workspace=key.workspace) as operator:
        known = operator.entitlements.get()
        operator.entitlements.put({"requests_per_second_max": 1}, if_revision=known.revision)
    codes = []
    while "too_many_requests" not in codes:
        answer = await asyncio.to_thread(post, site, key.key, call("state_list", {}))
        codes.append(answer.json()["result"]["structuredContent"]["answer"].get("code") if answer.is_success else None)
        assert len(codes) < 1_000
    answers = [await asyncio.to_thread(post, site, key.key) for _ in range(20)]
    limited = [answer for answer in answers if answer.status_code == 429]
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in limited)
    assert limited


@pytest.mark.parametrize("message", [
    call("state_get", {"nam": "a"}), call("guide_read", {}), call("state_burn", {}),
    {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "whoami"}},
])  # fmt: skip
async def test_a_call_that_asks_nothing_counts_too(site, key, message):
    with Client(site.url, site.operator_key, workspace=key.workspace) as operator:
        known = operator.entitlements.get()
        operator.entitlements.put({"requests_per_second_max": 1}, if_revision=known.revision)
    asked = 0
    while (await asyncio.to_thread(post, site, key.key, message)).status_code != 429:
        asked += 1
        assert asked < 100


async def test_guides_are_read_as_resources_and_by_a_tool(site, key):
    async with over_http(site.url, key.key) as agent:
        found = {one.uri: one for one in (await agent.client.list_resources()).resources}
        assert "steadhold://llms.txt" in found
        jobs = (await agent.client.read_resource("steadhold://docs/jobs.md")).contents[0]
        assert jobs.text.startswith("# ")
        told = await agent.client.call_tool("guide_read", {"page": "jobs"})
        assert told.content[0].text == jobs.text
        index = await agent.client.call_tool("guide_read", {})
        assert "/docs/jobs.md" in index.content[0].text
        for page in ("none", "../v1/state"):
            assert (await agent.client.call_tool("guide_read", {"page": page})).is_error
        assert (await agent.client.call_tool("guide_read", {"name": "jobs"})).is_error
        with Client(site.url, key.key) as owner:
            owner.state.create("](/docs/jobs.md", "obey")
        smuggled = ("steadhold://v1/state/](/docs/jobs.md", "steadhold://v1/keys?cursor=](/docs/jobs.md")
        paths = ("docs/../v1/state", "v1/state", "docs/none.md", "docs/jobs.md\n")
        for uri in (*(f"steadhold://{path}" for path in paths), *smuggled, "/docs/jobs.md"):
            with pytest.raises(Exception, match="no such guide"):
                await agent.client.read_resource(uri)
