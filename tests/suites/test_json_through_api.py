"""JSONTestSuite through the doors of state and jobs: stored byte for byte, or refused with a position."""

from __future__ import annotations

import json

import pytest

from steadhold.kit.ids import new_id
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures
from tests.suites.conftest import suite_files

pytestmark = pytest.mark.journeys
AT_LEAST = {"y": 95, "n": 188, "i": 35}
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False) as made:
        yield made


@pytest.fixture
def http(running, key):  # noqa: F811
    with running.client(key) as made:
        yield made


@pytest.fixture(scope="module")
def parsing(suites):
    return suites / "json_parsing"


@pytest.fixture(scope="module")
def accepted(parsing):
    """Whether the contract accepts a file, by its name."""
    said = json.loads((parsing / "expected-by-contract.json").read_text(encoding="utf-8"))
    return lambda file: said[file.name]["contract"] == "accept" if file.name in said else file.name.startswith("y_")


@pytest.mark.parametrize("kind", AT_LEAST)
def test_every_file_is_stored_as_it_is_or_refused_where_it_breaks(http, running, parsing, accepted, kind):
    told = {"stored": 0, "refused": 0}
    for n, file in enumerate(suite_files(parsing, f"{kind}_*.json", AT_LEAST[kind])):
        raw, name = file.read_bytes(), f"{kind}/{n}"
        got = http.put(f"/v1/state/{name}", content=raw, headers={"if-none-match": "*", **JSON})
        read = http.get(f"/v1/state/{name}")
        if accepted(file):
            assert (got.status_code, read.status_code, read.content) == (201, 200, raw), file.name
            told["stored"] += 1
        else:
            problem = got.json()
            assert (got.status_code, problem["code"], read.status_code) == (400, "bad_json", 404), file.name
            assert 0 <= problem["position"] <= len(raw), file.name
            told["refused"] += 1
    floors = {"y": ("stored", 93), "n": ("refused", 188), "i": ("refused", 1)}
    which, least = floors[kind]
    assert told[which] >= least
    assert "Traceback" not in running.said()


def test_every_file_as_a_member_of_a_body(http, running, parsing, accepted):
    """A job's input: what is no JSON breaks the body, and what the contract refuses is refused inside it as well."""
    taken = 0
    for file in suite_files(parsing, "[yni]_*.json", sum(AT_LEAST.values())):
        raw = file.read_bytes()
        body = b'{"type":"t","input":' + raw + b"}"
        got = http.post("/v1/jobs", content=body, headers={"idempotency-key": new_id(), **JSON})
        if accepted(file) and len(raw) > 0:
            assert got.status_code == 202, (file.name, got.text)
            assert http.get(f"/v1/jobs/{got.json()['job_id']}/input").content == raw.strip(b" \t\r\n"), file.name
            taken += 1
        else:
            assert (got.status_code, got.json()["code"]) in {(400, "bad_json"), (400, "bad_member")}, (
                file.name,
                got.text,
            )
    assert taken >= 93
    assert "Traceback" not in running.said()
