"""What no request can say is refused before one is sent; an answer that says less than it must breaks the protocol."""

from __future__ import annotations

import math
from dataclasses import dataclass

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.errors import BadAnswer
from steadhold.sdk.jobs import Submission
from steadhold.sdk.words import as_json


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "act",
    {
        "inbox": lambda client, number: client.inboxes["i"].create(max_age_seconds=number),
        "lock": lambda client, number: client.locks.acquire("a", ttl=number),
        "claim": lambda client, number: client.jobs.claim("me", ["t"], lease_seconds=number),
        "batch": lambda client, number: client.jobs.submit_many([Submission(type="t", deadline_seconds=number)]),
        "job": lambda client, number: client.jobs.submit("t", deadline_seconds=number),
    }.items(),
    ids=lambda item: item[0],
)
def test_a_number_that_json_cannot_say_is_no_null(each_client, server, act, number):
    with pytest.raises(ValueError, match=r"_seconds is (nan|inf|-inf): give a finite number"):
        act[1](each_client, number)
    assert server.requests == []


@dataclass
class Found:
    share: float


@pytest.mark.parametrize(
    "value", [Found(math.nan), [Found(math.nan)], {"a": Found(math.nan)}, {math.nan}, (1, math.nan)]
)
def test_a_number_that_json_cannot_say_is_found_within(value):
    with pytest.raises(ValueError, match="nan: give a finite number"):
        as_json(value)
    assert as_json(Found(0.5)) == b'{"share":0.5}'


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize("name", ["a&key=b", "a b", "a\x01", "", "ä"])
def test_a_workspace_that_no_address_holds_is_refused_at_once(client, name):
    with pytest.raises(ValueError, match="is no Id"):
        client("http://test", "sh_key", workspace=name)


@pytest.mark.parametrize("headers", [{}, {"revision": "one"}, {"revision": "²"}])
def test_an_answer_without_the_revision_that_it_made_breaks_the_protocol(each_client, server, headers):
    told = {name: value.encode("latin-1") for name, value in headers.items()}
    server.then(httpx2.Response(200, headers=told, json={}))
    with pytest.raises(BadAnswer, match="names no revision"):
        each_client.state.put("a", 1, if_revision=1)
