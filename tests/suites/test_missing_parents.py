"""A list of what belongs to something that is not there is 404, at every door that lists: never an empty list."""

from __future__ import annotations

import pytest

from steadhold.kit.ids import new_id
from steadhold.server.rooms import routes
from steadhold.server.settings import Retention
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys

NOTHING_ABOVE = {"/v1/journals/{name}/entries": "a journal is there by its entries"}


def lists():
    for route in routes(Retention()):
        path = route.path.replace(":uuid}", "}")
        if route.method == "GET" and "{" in path and "limit" in route.query and path not in NOTHING_ABOVE:
            yield path


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False) as made:
        yield made


def test_what_is_not_there_has_no_list(running, key):  # noqa: F811
    paths = sorted(set(lists()))
    assert len(paths) >= 10
    with running.client(key) as client:
        found = {path: ask(client, path) for path in paths}
    assert {path: got for path, got in found.items() if got != (404, "not_found")} == {}


def ask(client, path):
    before, _, rest = path.partition("{")
    got = client.get(before + new_id() + rest.partition("}")[2].replace(":path", ""))
    return got.status_code, got.json().get("code")
