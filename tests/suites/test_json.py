"""JSONTestSuite against the strict reader, as the state contract has it."""

from __future__ import annotations

import json

import pytest

from steadhold.kit.exact import check, decode
from tests.suites.conftest import suite_files

AT_LEAST = {"y": 95, "n": 188, "i": 35}
SAID_BY_THE_CONTRACT = 37


@pytest.fixture(scope="module")
def parsing(suites):
    return suites / "json_parsing"


@pytest.fixture(scope="module")
def contract(parsing):
    said = json.loads((parsing / "expected-by-contract.json").read_text(encoding="utf-8"))
    assert len(said) >= SAID_BY_THE_CONTRACT
    return {name: entry["contract"] == "accept" for name, entry in said.items()}


@pytest.mark.parametrize("kind", AT_LEAST)
def test_every_file_is_judged_as_the_contract_says(parsing, contract, kind):
    files = suite_files(parsing, f"{kind}_*.json", AT_LEAST[kind])
    expected = {file.name: contract.get(file.name, kind == "y") for file in files}
    assert {file.name: check(file.read_bytes()) is None for file in files} == expected


def test_every_open_file_is_decided(parsing, contract):
    assert {file.name for file in parsing.glob("i_*.json")} <= contract.keys()


@pytest.mark.parametrize("kind", AT_LEAST)
def test_a_refusal_says_where_and_why(parsing, kind):
    for file in suite_files(parsing, f"{kind}_*.json", AT_LEAST[kind]):
        raw = file.read_bytes()
        if fault := check(raw):
            assert 0 <= fault.position <= len(raw), file.name
            assert fault.why.endswith("."), file.name


def test_what_is_accepted_has_an_exact_value(parsing):
    accepted = [file for file in suite_files(parsing, "y_*.json", AT_LEAST["y"]) if check(file.read_bytes()) is None]
    for file in accepted:
        decode(file.read_bytes())
    assert len(accepted) == AT_LEAST["y"] - 2
