"""After a lost answer: what is advised sends the same request, and to abandon it only where that says something."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import httpx2
import msgspec
import pytest
from click.testing import CliRunner

from steadhold.cli import exits, hints
from steadhold.cli.program import program
from steadhold.sdk.client import Client
from steadhold.server import rooms
from tests.cli.conftest import Server, problem, reply, stood
from tests.cli.test_fences import ROOMS, asking, file, words  # noqa: F401 - a fixture
from tests.sdk.site import key, site  # noqa: F401 - fixtures
from tests.sdk.test_lost import Lossy

DOCS = Path(__file__).parents[2] / "docs"
FIELDS = ("content-type", "fence", "idempotency-key", "if-match", "if-none-match", "repr-digest")
ANEW = {
    "steadhold lock run": "it holds a lock for as long as it runs, and whoever runs it again is another",
    "steadhold listen": "what it makes is gone when it ends, and made anew",
}
AGAIN = "run the same command again"
ROUTES = [route for route in rooms.routes() if route.method != "GET"]


class Losing(Server):
    """Knows of nothing, and loses the answer of every change."""

    def __call__(self, request):
        code = "operation_not_committed" if "/operations/" in str(request.url) else "not_found"
        self.answers = [problem(404, code) if request.method == "GET" else httpx2.ReadError("cut off")]
        return super().__call__(request)


@pytest.fixture
def losing(monkeypatch):
    return stood(monkeypatch, Losing())


def said(request):
    """What a server is told by a request."""
    fields = {name: request.headers.get(name) for name in FIELDS}
    return request.method, str(request.url), fields, b"".join(request.stream)


def lost(server, typed):
    """The change whose answer was lost, and what is said next; None where nothing was changed."""
    server.requests.clear()
    result = CliRunner().invoke(program, typed, prog_name="steadhold")
    assert isinstance(result.exception, SystemExit | None), (typed, result.exception)
    told = result.stderr.partition("Next: ")[2].rstrip()
    return (said(server.last) if result.exit_code == exits.UNKNOWN else None), told


def advised(told):
    """The options that are to be added to the command."""
    return shlex.split(re.split(r"[.;`]( |$)", told.partition(f"{AGAIN} with ")[2])[0])


def behind(typed, more):
    at = typed.index("--") if "--" in typed else len(typed)
    return [*typed[:at], *more, *typed[at:]]


def commands(room):
    return [ctx for ctx in asking() if ctx.command_path.split()[1] == room]


def test_all_that_changes_something_is_lost(losing, file):  # noqa: F811
    changing = {ctx.command_path for ctx in asking() if "--fence" in hints.options(ctx.command)} | {*ANEW}
    seen = {ctx.command_path for ctx in asking() if lost(losing, words(ctx, file))[0]}
    assert changing - seen == {"steadhold keys rewrap"}  # it changes what it finds, and finds nothing here
    assert seen - changing == {"steadhold workspaces create"}


def route_of(request):
    """The door at which a request came."""
    path = request[1].removeprefix("http://127.0.0.1:8750").partition("?")[0]
    [found] = [route for route in ROUTES if route.method == request[0] and pattern(route.path).fullmatch(path)]
    return found


def pattern(path):
    """Addresses of a route."""
    return re.compile(re.sub(r"{\w+:path}", ".+", re.sub(r"{\w+(:uuid)?}", "[^/:]+", path)))


@pytest.mark.parametrize("room", ROOMS)
def test_the_same_command_with_what_is_advised_is_the_same_request(losing, file, monkeypatch, room):  # noqa: F811
    for ctx in commands(room):
        typed = words(ctx, file)
        first, told = lost(losing, typed)
        if first is None or ctx.command_path in ANEW:
            continue
        assert AGAIN in told, ctx.command_path
        named = {*hints.NAMES_A_CHANGE} & hints.options(ctx.command)
        assert bool(advised(told)) == bool(named), (ctx.command_path, told)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("os.getpid", lambda: 4_711)
            elsewhere.setattr("socket.gethostname", lambda: "another")
            again, _ = lost(losing, behind(typed, advised(told)))
        if not named:  # each is sent under an id of its own
            first[2].pop("idempotency-key")
            again[2].pop("idempotency-key")
        assert again == first, ctx.command_path


def test_who_took_a_lock_is_named_again_as_it_was_sent(losing):
    _, told = lost(losing, ["locks", "acquire", "a", "--idempotency-key", "k"])
    assert advised(told)[:3] == ["--idempotency-key", "k", "--owner"]
    assert advised(told)[3] == msgspec.json.decode(losing.last.content)["owner"]
    _, told = lost(losing, ["locks", "acquire", "a", "--owner", "ci-7"])
    assert "--owner" not in advised(told)


@pytest.mark.parametrize("more", [[], ["--idempotency-key", "k"]])
def test_a_change_of_several_requests_is_said_again_from_its_first(server, more):
    """Each has an id of its own, which begins with that of the whole."""
    begun = reply(200, b'{"events": 5, "next_cursor": "c"}')
    typed = ["subscriptions", "replay", "a", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", *more]
    server.then(begun, httpx2.ReadError("cut off"))
    _, told = lost(server, typed)
    first, second = (one.headers["idempotency-key"] for one in server.requests[:2])
    assert (second, advised(told)) == (f"{first}.1", ["--idempotency-key", first])
    assert not more or first == "k"


@pytest.mark.parametrize("room", ROOMS)
def test_to_abandon_is_advised_of_what_a_workspace_keeps_a_receipt_of(losing, file, room):  # noqa: F811
    for ctx in commands(room):
        first, told = lost(losing, words(ctx, file))
        if first is not None:
            route = route_of(first)
            kept = route.receipt != "none" and not route.house
            assert ("steadhold operations abandon" in told) == kept, (ctx.command_path, told)


def test_what_cannot_be_abandoned_is_written_down(losing, file):  # noqa: F811
    without, house = set(), set()
    for ctx in asking():
        first, _ = lost(losing, words(ctx, file))
        name, route = ctx.command_path.partition(" ")[2], first and route_of(first)
        if route and route.house:
            house.add(name)
        elif route and route.receipt == "none":
            without.add(name)
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    listed = page.partition("These keep no receipt:")[2].partition(".")[0]
    assert {*re.findall(r"`([^`]+)`", listed)} == without - {"operations abandon"}
    assert house == {"workspaces create"}
    assert "`workspaces create`" in page.partition("These keep no receipt:")[2].partition("\n\n")[0]


def test_every_door_without_a_receipt_is_written_down():
    page = (DOCS / "lost-answers.md").read_text(encoding="utf-8")
    listed = page.partition("## What has no receipt")[2].partition("\n## ")[0]
    doors = {f"{route.method} {route.path}" for route in ROUTES if route.receipt == "none" or route.house}
    told = {door.replace(":uuid", "") for door in doors} - {"POST /v1/approvals/{id}/verify"}
    assert {*re.findall(r"`((?:POST|PUT|DELETE) /v1/[^`]+)`", listed)} == told


def test_what_has_nothing_that_names_it_is_looked_at_first(losing):
    _, told = lost(losing, ["trigger", "t", "--webhook", "w"])
    assert re.fullmatch(rf"`steadhold operations abandon \S+` says which, for good. Then {AGAIN}, if it has not.", told)


def test_who_interrupts_is_told_a_command(steadhold, server):
    server.then(KeyboardInterrupt())
    told = steadhold("state", "put", "a", "1", "--create", "--idempotency-key", "k", code=130).stderr
    assert told == "Operation k was in flight: `steadhold operations abandon k` says for good whether it took effect.\n"


@pytest.mark.parametrize(("words", "code"), [("state get a", 1), ("state put a 1 --create", 5)])
def test_where_else_to_look_is_said_in_words_of_the_command_line(steadhold, server, words, code):
    away = reply(302, b"", location="http://b/")
    server.then(*([away] if code == 1 else [httpx2.ReadError("cut off"), away]))
    told = steadhold(*words.split(), code=code).stderr
    assert "redirects to http://b/" in told
    assert "as url" not in told
    assert code != 1 or "Next: Something before the server answered" in told


def test_a_page_of_something_before_the_server_is_told_for_one(steadhold, server):
    server.then(httpx2.Response(404, html="<h1>gone</h1>"))
    assert "does STEADHOLD_URL, or --url, name the server itself?" in steadhold("state", "get", "a", code=4).stderr


@pytest.fixture
def line(monkeypatch, site, key):  # noqa: F811
    """The real server, by a line that loses what it is told to; nothing is tried again."""
    line = Lossy()

    def client(*args, give_up_seconds, **settings):
        assert give_up_seconds > 0
        return Client(*args, **settings, give_up_seconds=0, transport=line)

    monkeypatch.setattr("steadhold.sdk.client.Client", client)
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)
    return line


def answered(result):
    return msgspec.json.decode(result.stdout)


def test_a_lock_whose_answer_was_lost_is_had_by_what_is_advised(steadhold, line, monkeypatch):
    line.losing[:] = ["answer"]
    typed = ["locks", "acquire", "a"]
    told = steadhold(*typed, code=5).stderr.partition("Next: ")[2]
    monkeypatch.setattr("steadhold.sdk.locks.somebody", lambda: "another:4711")
    same = advised(told)
    assert (answered(steadhold(*typed, *same))["fence"], line.lost) == (1, [("answer", 200)])
    assert "[operation_mismatch]" in steadhold(*typed, *same[:2], code=3).stderr
    assert answered(steadhold("operations", "abandon", same[1]))["state"] == "abandoned"  # as the pages say
    assert answered(steadhold("locks", "show", "a"))["held"]


def test_an_event_whose_answer_was_lost_is_taken_once_by_what_is_advised(steadhold, line):
    steadhold("inbox", "create", "i")
    line.losing[:] = ["answer"]
    typed = ["inbox", "send", "i", "t", "1"]
    told = steadhold(*typed, code=5).stderr.partition("Next: ")[2]
    same = advised(told)
    again = answered(steadhold(*typed, *same))
    assert (again["sequence"], again["duplicate"], line.lost) == (1, True, [("answer", 201)])
    assert answered(steadhold("operations", "abandon", same[1]))["state"] == "abandoned"  # as the pages say
    assert answered(steadhold("inbox", "show", "i"))["last_sequence"] == 1
