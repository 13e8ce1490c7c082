"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files

from steadhold.context.archive import OURS
from steadhold.context.routes import ROUTES
from steadhold.web.codes import PROBLEMS

GUIDE = files("steadhold.context").joinpath("guide.md").read_text(encoding="utf-8")
COMMON = {"bad_name", "too_large", "unknown_reference"}
"""Of all rooms, and of commits."""


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_code_of_the_routes_is_told():
    told = {}
    for status, codes in re.findall(r"^\| (\d+) \| (`[^|]+) \|", section("What is refused"), re.MULTILINE):
        told |= dict.fromkeys(re.findall(r"`(\w+)`", codes), int(status))
    assert set(told) == {code for route in ROUTES for code in route.problems} | COMMON
    assert told == {code: PROBLEMS[code].status for code in told}


def test_every_route_and_its_scope_are_told():
    pattern = r"^\| `(\w+) (/v1/[^`?]+)(?:\?[^`]*)?` \| `(context:\w+)` \|"
    told = {
        (method, re.sub(r"{(path|prefix)}", r"{\1:path}", path), scope)
        for method, path, scope in re.findall(pattern, section("Routes"), re.MULTILINE)
    }
    assert told == {(route.method, route.path, route.scope) for route in ROUTES}


def test_the_records_of_an_archive_are_told():
    written = {"revision", "sha256", "content_type", "id"}
    assert set(re.findall(rf"`{OURS}(\w+)`", GUIDE)) == written | {"if_match"}
