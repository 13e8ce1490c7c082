"""Addresses and what cannot be one; a table of doors in which one could hide another is refused."""

from __future__ import annotations

import pytest

from steadhold.web.ask import Route
from steadhold.web.router import Router


def door(path: str, method: str = "GET") -> Route:
    return Route(method, path, lambda ask: None, "", path)


ROUTER = Router([
    door("/v1/state"), door("/v1/state:batch", "POST"), door("/v1/state/{name:path}"), door("/v1/jobs/{id:uuid}"),
    door("/v1/jobs/{id:uuid}/checkpoints/{stage}"), door("/v1/keys/{id}/revoke", "POST"),
])  # fmt: skip
JOB = "0198aaaa-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    "raw,path,params",
    [
        ("/v1/state", "/v1/state", {}),
        ("/v1/state:batch", "/v1/state:batch", {}),
        ("/v1/state%3Abatch", "/v1/state:batch", {}),
        ("/v1/state/a", "/v1/state/{name:path}", {"name": "a"}),
        ("/v1/state/a/b%20c/%C3%A9", "/v1/state/{name:path}", {"name": "a/b c/é"}),
        ("/v1/state/a%2Fb", "/v1/state/{name:path}", {"name": "a/b"}),
        ("/v1/state/", "/v1/state/{name:path}", {"name": ""}),
        ("/v1/state//", "/v1/state/{name:path}", {"name": "/"}),
        (f"/v1/jobs/{JOB}", "/v1/jobs/{id:uuid}", {"id": JOB}),
        (f"/v1/jobs/{JOB}/checkpoints/a.b@c", "/v1/jobs/{id:uuid}/checkpoints/{stage}", {"id": JOB, "stage": "a.b@c"}),
        ("/v1/keys/%40/revoke", "/v1/keys/{id}/revoke", {"id": "@"}),
    ],
)
def test_an_address_finds_its_door(raw, path, params):
    for _ in range(2):  # found anew, then remembered
        doors, found = ROUTER.find(raw.encode())
        assert {route.path for route in doors.values()} == {path}
        assert found == params


@pytest.mark.parametrize(
    "raw",
    [
        "/", "", "/v1", "/v1/", "/v2/state", "/v1/State", "/v1/state:", "/v1//state", f"/v1/jobs/{JOB.upper()}",
        f"/v1/jobs/{JOB}/", f"/v1/jobs/{JOB[:-1]}", f"/v1/jobs/{JOB}/checkpoints/", f"/v1/jobs/{JOB}/checkpoints/a%2Fb",
        "/v1/keys//revoke", "/v1/keys/a%00/revoke", "/v1/keys/%ff/revoke", "/v1/keys/%/revoke", "/v1/keys/ä/revoke",
        f"/v1/keys/{'a' * 201}/revoke", "/v1/keys/a/revoke/b",
    ],
)  # fmt: skip
def test_what_is_no_address_finds_nothing(raw):
    assert ROUTER.find(raw.encode()) is None


def test_memory_of_addresses_is_bounded():
    router = Router([door("/v1/state/{name:path}")])
    for n in range(10_000):
        assert router.find(b"/v1/state/%d" % n)
    assert len(router._found) <= 4_096
    router.find(b"/v1/state/" + b"a" * 1_000)
    assert all(len(raw) <= 256 for raw in router._found)


@pytest.mark.parametrize(
    "paths,why",
    [
        (["/v1/a/{id}", "/v1/a/b"], "could also be"),
        (["/v1/a/b", "/v1/a/{id}"], "could also be"),
        (["/v1/a/{id}", "/v1/a/{name}"], "another route calls"),
        (["/v1/a/{id}", "/v1/a/{id:uuid}"], "another route calls"),
        (["/v1/a/{name:path}/b"], "the last part"),
        (["/v1/a", "/v1/a"], "twice"),
    ],
)
def test_doors_that_could_hide_each_other_are_refused(paths, why):
    with pytest.raises(ValueError, match=why):
        Router([door(path) for path in paths])


def test_an_address_that_lets_in_is_found_whatever_it_is_and_not_remembered():
    router = Router([Route("POST", "/v1/in/{token}", lambda ask: None, "", "", capability="token")])
    for raw, text in (("/v1/in/a", "a"), ("/v1/in/%C3%A4", "ä"), ("/v1/in/", "")):
        doors, params = router.find(raw.encode())
        assert (doors.capability, params) == ("token", {"token": text})
    assert router._found == {}


def test_an_address_lets_in_for_all_methods_or_for_none():
    keyless = Route("POST", "/v1/in/{token}", lambda ask: None, "", "", capability="token")
    with pytest.raises(ValueError, match="lets in by its address"):
        Router([keyless, door("/v1/in/{token}")])
