"""From arguments to a request: exact bytes, addresses that lead nowhere else, conditions, fences, ids."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit import exact, ids, limits
from steadhold.mcp import asking
from steadhold.mcp.asking import asked
from steadhold.web.ask import Stop
from steadhold.web.router import Router
from tests.mcp.test_table import DOORS, rooms

ROUTER = Router(rooms.routes())
JOB = "0198c0de-0000-7000-8000-000000000001"


def refused(tool, **arguments):
    with pytest.raises(Stop) as stopped:
        asked(DOORS[tool], arguments)
    return stopped.value.problem


def test_a_document_is_sent_byte_for_byte():
    text = '{"n": 1.10, "big": 12345678901234567890123456789}'
    request = asked(DOORS["state_put"], {"name": "a", "value_json": text, "if_revision": 3})
    assert (request.method, request.target, request.body) == ("PUT", "/v1/state/a", text.encode())
    assert request.headers["if-match"] == '"3"'
    assert request.headers["content-type"] == "application/json"


def test_an_input_is_sent_byte_for_byte_in_its_body():
    request = asked(DOORS["job_submit"], {"type": "t", "input_json": "[1.10,  2e3]", "tags": ["x"]})
    assert request.body == b'{"type":"t","input":[1.10,  2e3],"tags":["x"]}'


def test_a_value_becomes_exact_json():
    request = asked(DOORS["state_put"], {"name": "a", "value": {"ä": [1, 2.5, None]}, "if_revision": 0})
    assert request.body == '{"ä":[1,2.5,null]}'.encode()
    assert request.headers["if-none-match"] == "*"


ODD = [2**80, -0.0, 1.0, 1e22, 5e-324, 1.1, '\u2028/\x7f"', {"": [None, True]}, {"1": {}}, [], "\U0001f600"]


def test_any_value_is_written_as_the_rooms_write_it():
    assert asked(DOORS["state_put"], {"name": "a", "value": ODD, "if_revision": 0}).body == exact.encode(ODD)
    submitted = asked(DOORS["job_submit"], {"type": "t", "input": ODD}).body
    assert submitted == exact.encode({"type": "t", "input": ODD})


def test_of_many_unknown_members_one_is_named():
    many = {f"member-{n}": 1 for n in range(50)}
    for tool, arguments in (("whoami", many), ("lock_release", {"name": "a", "fence": 1, **many})):
        told = refused(tool, **arguments)
        assert (told.code, told.detail.count("member-")) == ("bad_member", 1)


@pytest.mark.parametrize("arguments, code", [
    ({"value": 1, "value_json": "1"}, "bad_member"),
    ({"value_json": '{"a":1,"a":2}'}, "bad_json"),
    ({"value_json": "NaN"}, "bad_json"),
    ({"value": float("inf")}, "bad_json"),
    ({}, "bad_member"),
    ({"value": 1, "other": 2}, "bad_member"),
    ({"value": 1, "if_revision": -1}, "bad_member"),
    ({"value": 1, "if_revision": None}, "bad_member"),
    ({"value": 1, "operation_id": "no id"}, "bad_member"),
    ({"value": 1, "operation_id": "mine\n"}, "bad_member"),
    ({"value": 1, "if_revision": 1.0}, "bad_member"),
    ({"value": "\ud800"}, "bad_member"),
    ({"value_json": "\ud800"}, "bad_member"),
    ({"value": 1, "offset": 1.0}, "bad_member"),
    ({"value": 1, "fences": [{"grant": "lock:ж", "fence": 1}]}, "bad_member"),
    ({"value": 1, "fences": [{"grant": "lock:x\r\nif-match: *", "fence": 1}]}, "bad_member"),
    ({"value": 1, "fences": [{"grant": "lock:x", "fence": 10**30}]}, "bad_member"),
    ({"value": 1, "fences": [{"grant": "lock:x"}]}, "bad_member"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(arguments, code):
    assert refused("state_put", **{"name": "a", "if_revision": 1, **arguments}).code == code


@pytest.mark.parametrize(
    "tool, argument, most", [("job_claim", "types", 0), ("commit", "require", 8), ("state_put", "fences", 0)]
)
def test_few_faults_of_a_long_list_are_looked_for(monkeypatch, tool, argument, most):
    """One message must not keep the server busy for seconds."""
    looked = []
    kind = asking._DRAFT.VALIDATORS["type"]

    def noting(check, types, value, schema):
        looked.append(value)
        return kind(check, types, value, schema)

    monkeypatch.setitem(asking._Validator.VALIDATORS, "type", noting)
    refused(tool, **{argument: [7] * 10_000})
    assert looked.count(7) <= most * 50


def test_two_sources_of_one_input_are_refused():
    assert refused("job_submit", type="t", input=1, input_json="1").code == "two_sources"


def test_a_condition_that_a_write_needs_is_needed():
    assert refused("state_put", name="a", value=1).code == "bad_member"
    assert refused("state_delete", name="a").code == "bad_member"


@pytest.mark.parametrize("name", ["../keys", "a/../../keys", "a//b", "/a", "a/", ".", "a/./b", ""])
def test_an_address_leads_nowhere_else(name):
    assert refused("state_get", name=name).code in {"bad_name", "bad_member"}


@pytest.mark.parametrize("id", ["..", ".", "a/b", "a?b", "a#b", "%2e%2e", "", "a\n", f"{JOB}\n"])
def test_an_id_leads_nowhere_else(id):
    assert refused("job_get", job_id=id).code in {"bad_name", "bad_member"}
    assert refused("lock_get", name=id).code in {"bad_name", "bad_member"}


@given(st.text(min_size=1, max_size=40))
def test_a_name_comes_whole_to_its_own_door(name):
    try:
        request = asked(DOORS["state_get"], {"name": name})
    except Stop:
        return
    assert request.target.isascii()
    found = ROUTER.find(request.target.partition("?")[0].encode())
    assert found is not None
    assert found[0]["GET"].path == "/v1/state/{name:path}"
    assert found[1] == {"name": name}


def test_fences_become_a_field():
    grants = [{"grant": "lock:deploy", "fence": 3}, {"grant": f"job:{JOB}", "fence": 7}]
    request = asked(DOORS["state_put"], {"name": "a", "value": 1, "if_revision": 1, "fences": grants})
    assert request.headers["fence"] == f'"lock:deploy";fence=3, "job:{JOB}";fence=7'


def test_an_operation_id_is_kept_or_made():
    assert asked(DOORS["job_submit"], {"type": "t", "operation_id": "mine"}).headers["idempotency-key"] == "mine"
    one, other = (asked(DOORS["job_submit"], {"type": "t"}) for _ in range(2))
    assert one.operation_id == one.headers["idempotency-key"] != other.operation_id
    assert ids.operation_key(one.operation_id) == one.operation_id


def test_a_reading_has_no_operation():
    request = asked(DOORS["state_get"], {"name": "a", "unless_revision": 4, "wait_seconds": 2})
    assert request.operation_id is None
    assert request.headers == {"if-none-match": '"4"'}
    assert request.target == "/v1/state/a?wait_seconds=2"
    assert request.wait_seconds == 2


@pytest.mark.parametrize(
    "said, seconds", [({}, limits.WAIT_SECONDS_MAX), ({"wait_seconds": 0}, 0), ({"wait_seconds": 2}, 2)]
)
def test_a_tool_that_waits_waits_as_long_as_it_is_told(said, seconds):
    assert asked(DOORS["job_wait"], {"job_id": JOB, **said}).wait_seconds == seconds


def test_a_list_has_few_items_unless_more_are_asked_for():
    assert asked(DOORS["job_list"], {}).target == "/v1/jobs?limit=20"
    assert unquote(asked(DOORS["job_list"], {"limit": 3, "tag": "a:b"}).target) == "/v1/jobs?limit=3&tag=a:b"


def test_a_file_of_text_is_its_bytes():
    request = asked(DOORS["context_put"], {"path": "a/ü.txt", "text": "ü\n", "if_revision": 0})
    assert request.body == "ü\n".encode()
    assert request.target == "/v1/context/a/%C3%BC.txt"
    assert request.headers["content-type"].startswith("text/plain")
