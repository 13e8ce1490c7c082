"""Requests to every door of the real rooms, and what a problem may show."""

from __future__ import annotations

from urllib.parse import quote

from steadhold.kit.ids import new_id
from steadhold.server import rooms
from steadhold.web.codes import PROBLEMS

JOB = "0198aaaa-0000-7000-8000-000000000000"
SEALING_KEY = "A" * 43 + "="
NAMED = ("key_id", "name", "resource", "inbox", "key")
ROUTES = [route for route in rooms.routes() if not route.house and not route.capability]
INSIDE = (b"Traceback", b"asyncpg", b"psycopg", b"msgspec", b"sqlstate", b".py", b"select ", b"steadhold.")


def target(route, **params):
    """The address of a route, about something that is not there."""
    values = {"id": JOB, "door": JOB, "stage": "s", "type": "t"} | dict.fromkeys(NAMED, "none") | params
    path = route.path
    for name, value in values.items():
        for form in (f"{{{name}}}", f"{{{name}:uuid}}", f"{{{name}:path}}"):
            path = path.replace(form, quote(value, safe="/:@~"))
    return path


def headers(route, **more):
    """What a well-formed request to a route has."""
    made = {"content-type": "application/json"} if route.body != "none" else {}
    if route.receipt != "none" or "key_required" in route.problems:
        made["idempotency-key"] = new_id()
    if "if-match" in route.headers:
        made["if-match"] = '"1"'
    return made | more


def told(got):
    """Status and code of a problem that shows nothing of our inside."""
    assert got.headers["content-type"] == "application/problem+json", (got.status_code, got.text[:200])
    problem = got.json()
    assert PROBLEMS[problem["code"]].status == problem["status"] == got.status_code
    assert problem["next"] == PROBLEMS[problem["code"]].next
    assert not [word for word in INSIDE if word in got.content], got.text
    return got.status_code, problem["code"]


def name_of(route):
    return f"{route.method} {route.path}"
