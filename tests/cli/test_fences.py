"""Every command that changes something can be told grants that have to be current, and its requests name them."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from steadhold.cli import hints
from steadhold.cli.connect import relying
from steadhold.cli.program import program
from steadhold.kit.fields import FenceRef
from tests.cli.conftest import problem, reply
from tests.cli.test_hints import typed

FIELD = '"lock:a";fence=3'
JOB = "0198f3c2-7d1e-7c3a-9b1f-2f6a0c9d4e11"
HASH = ["--hash", f"sha256:{'0' * 64}"]
WITHOUT = {
    "steadhold lock run": "it takes a grant of its own, which what runs under it names",
    "steadhold listen": "what it makes is gone when it ends",
    "steadhold workspaces create": "a workspace that is not there holds no grants",
    "steadhold approvals verify": "it changes nothing",
}
READS = {"steadhold keys rewrap": "it changes what it finds, and finds nothing here"}
MORE = {
    "state put": ["1", "--create"], "state update": ["--create", "1"], "context put": ["--create"],
    "events append": ["--create"], "subscriptions put": ["--create", "--inbox", "i"], "inbox send": ["t", "1"],
    "schedules put": ["t", "--create", "--every-seconds", "60"], "keys create": ["--scope", "state:read"],
    "approvals request": HASH, "approvals approve": HASH, "approvals reject": HASH, "approvals use": HASH,
    "approvals verify": HASH, "trigger": ["--webhook", "a"], "lock run": ["--wait", "0", "--", "true"],
    "state watch": ["--count", "1"],
}  # fmt: skip
"""What commands need besides the arguments and options that click requires."""


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "file"
    made.write_text('{"apply": [{"op": "jobs.submit", "type": "t"}]}')
    return made


def asking():
    """Commands that ask a server, and are no servers or workers themselves."""
    known = [ctx for ctx in typed() if ctx.command_path != "steadhold mcp"]
    return [ctx for ctx in known if "--timeout" in hints.options(ctx.command)]


def value(one, file):
    """Something that an argument, or an option, takes."""
    if isinstance(one.type, click.Choice):
        return one.type.choices[0]
    if isinstance(one.type, click.Path | click.File):
        return str(file)
    if isinstance(one.type, click.IntRange | click.FloatRange | click.types.IntParamType | click.types.FloatParamType):
        return "1"
    if one.name == "command":
        return "cat"
    try:
        one.type.convert("a", one, None)
    except click.BadParameter:
        return "2026-01-01T00:00:00Z"
    return "a"


def words(ctx, file):
    """A command as it could be typed."""
    name = ctx.command_path.partition(" ")[2]
    said, more = name.split(), MORE.get(name, [])
    for one in ctx.command.params:
        if one.required and not (one.nargs == -1 and "--" in more):
            said += [value(one, file)] if isinstance(one, click.Argument) else [one.opts[0], value(one, file)]
    return [*said, *more]


def asked(server, said):
    """The changes that a command asks for, of which the server knows nothing."""
    server.requests.clear()
    result = CliRunner().invoke(program, said, prog_name="steadhold")
    assert isinstance(result.exception, SystemExit | None), (said, result.exception)
    assert result.exit_code != 2, (said, result.stderr)
    return [request for request in server.requests if request.method != "GET"]


ROOMS = sorted({ctx.command_path.split()[1] for ctx in asking()})


@pytest.mark.parametrize("room", ROOMS)
def test_every_change_can_rely_on_grants_and_names_them(server, file, room):
    server.then(problem(404, "not_found"))
    bare, unnamed = set(), set()
    for ctx in (one for one in asking() if one.command_path.split()[1] == room):
        said, takes = words(ctx, file), "--fence" in hints.options(ctx.command)
        if ctx.command_path in READS:
            assert takes
        elif changed := asked(server, [*said, "--fence", "lock:a=3"] if takes else said):
            if not takes:
                bare.add(ctx.command_path)
            elif {request.headers.get("fence") for request in changed} != {FIELD}:
                unnamed.add(ctx.command_path)
        elif takes:
            unnamed.add(ctx.command_path)
    assert (unnamed, bare) == (set(), {name for name in WITHOUT if name.split()[1] == room})


def test_what_takes_no_grants_is_written_down():
    docs = Path(__file__).parents[2] / "docs"
    told = (docs / "cli.md").read_text(encoding="utf-8").partition("Three take none:")[2].partition("\n\n")[0]
    changes = [name.removeprefix("steadhold ") for name in WITHOUT if "changes nothing" not in WITHOUT[name]]
    assert len(changes) == 3
    assert [name for name in changes if f"`{name}`" not in told] == []


def test_several_grants_are_named(steadhold, server):
    server.then(reply(201, b"", revision=1))
    steadhold("state", "put", "a", "1", "--create", "--fence", "lock:a=3", "--fence", f"job:{JOB}=7")
    assert server.last.headers["fence"] == f'"lock:a";fence=3, "job:{JOB}";fence=7'


@pytest.mark.parametrize(
    "grant", ["nonsense", "deploy=3", "lock:deploy", "lock:a b=3", 'lock:a"=3', "=3", "consumer:a=3"]
)
def test_what_is_no_grant_is_a_usage_error_that_quotes_it(steadhold, server, grant):
    said = steadhold("state", "delete", "a", "--if-match", 1, "--fence", grant, code=2).stderr
    assert f"Invalid value for '--fence': {grant!r} is no grant, as in lock:deploy=3" in said
    assert "''" not in said.replace(repr(grant), "") or grant == "=3"
    assert server.requests == []


@pytest.mark.parametrize("fence", ["x", "0", "", "-1", "1_0", "+1", "\u0661", "1" * 16, "9" * 5_000])
def test_what_is_no_fence_is_a_usage_error(steadhold, server, fence):
    for words in (
        "state delete a --if-match 1 --fence=lock:a=",
        "inbox ack i c e 7 --fence=",
        "inbox ack i c e 7 --fence=lock:a=",
    ):
        said = steadhold(*f"{words}{fence}".split(), code=2).stderr
        assert "Invalid value for '--fence': " in said
        assert len(said) < 400
    assert server.requests == []


def test_a_consumer_is_acknowledged_under_its_lease_and_under_others(steadhold, server):
    server.then(reply(200, b'{"epoch": "e", "position": 7}'))
    steadhold("inbox", "ack", "i", "c", "e", 7, "--fence", 5, "--fence", "lock:a=3")
    assert msgspec.json.decode(server.last.content)["fence"] == 5
    assert server.last.headers["fence"] == FIELD


@pytest.mark.parametrize("fences", [["nonsense"], ["9" * 5_000], ["0"], ["7", "8"], ["7", "lock:a=3", "7"]])
def test_a_lease_that_is_none_or_one_of_several_is_refused(steadhold, server, fences):
    said = steadhold("inbox", "ack", "i", "c", "e", 7, *[f"--fence={one}" for one in fences], code=2).stderr
    assert "--fence" in said
    assert server.requests == []


def test_a_key_that_no_server_makes_relies_on_nothing(steadhold):
    more = [
        "--kind=person",
        "--kind=service",
        "--scope=state:read",
        "--fence=lock:a=3",
        "--idempotency-key=a",
        "--expires-in-seconds=9",
    ]
    for one in more:
        said = steadhold("keys", "create", "ops", "--operator", "--database-url", "postgresql:///x", one, code=2)
        assert "--operator goes with no kind, scope" in said.stderr


def test_grants_that_a_verb_names_itself_stay_named(server):
    server.then(reply(201, b"", revision=1))
    with server.client("http://h", "k", give_up_seconds=1) as client:
        relying(client, [FenceRef("lock:a", 3)]).state.create("n", 1, fences=[FenceRef("lock:b", 4)])
    assert server.last.headers["fence"] == f'"lock:b";fence=4, {FIELD}'


def test_what_a_command_reads_relies_on_nothing(steadhold, server):
    server.then(reply(200, b"1", revision=1), reply(200, b"", revision=2))
    steadhold("state", "update", "a", "--exec", "cat", "--fence", "lock:a=3")
    assert [request.headers.get("fence") for request in server.requests] == [None, FIELD]
