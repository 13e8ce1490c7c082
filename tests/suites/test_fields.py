"""The Structured Fields tests of the HTTP working group, for the header types we read and write."""

from __future__ import annotations

import base64
import json
from decimal import Decimal

import pytest

from steadhold.kit.structured import (
    Date,
    InnerList,
    Item,
    StructuredError,
    Token,
    parse_dictionary,
    parse_item,
    parse_list,
    write_dictionary,
    write_item,
    write_list,
)

AT_LEAST = {"string": 14, "item": 5, "dictionary": 26, "binary": 15}
PARSE = {"item": parse_item, "list": parse_list, "dictionary": parse_dictionary}
WRITE = {"item": write_item, "list": write_list, "dictionary": write_dictionary}


def records(suites, name):
    found = json.loads((suites / "http" / f"{name}.json").read_text(encoding="utf-8"), parse_float=Decimal)
    assert len(found) >= AT_LEAST[name]
    return found


def bare(value):
    match value:
        case {"__type": "binary", "value": text}:
            return base64.b32decode(text)
        case {"__type": "token", "value": text}:
            return Token(text)
        case {"__type": "date", "value": seconds}:
            return Date(seconds)
        case _:
            return value


def member(expected):
    value, parameters = expected
    known = {key: bare(one) for key, one in parameters}
    if isinstance(value, list):
        return InnerList(tuple(map(member, value)), known)
    return Item(bare(value), known)


def expected_of(record):
    match record["header_type"]:
        case "item":
            return member(record["expected"])
        case "list":
            return tuple(map(member, record["expected"]))
        case _:
            return {key: member(one) for key, one in record["expected"]}


@pytest.mark.parametrize("name", AT_LEAST)
def test_what_must_fail_fails(suites, name):
    for record in records(suites, name):
        if record.get("must_fail"):
            with pytest.raises(StructuredError):
                PARSE[record["header_type"]](", ".join(record["raw"]))


@pytest.mark.parametrize("name", AT_LEAST)
def test_what_may_parse_is_read_and_written_as_expected(suites, name):
    for record in records(suites, name):
        if record.get("must_fail"):
            continue
        kind, raw = record["header_type"], ", ".join(record["raw"])
        try:
            value = PARSE[kind](raw)
        except StructuredError:
            assert record.get("can_fail"), record["name"]
            continue
        assert value == expected_of(record), record["name"]
        assert WRITE[kind](value) == ", ".join(record.get("canonical", record["raw"])), record["name"]
