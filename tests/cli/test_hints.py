"""A hint names only commands that there are, and only options that the command has which it is about."""

from __future__ import annotations

import ast
import re
import shlex
from itertools import product
from pathlib import Path

import click
import pytest

import steadhold.cli
from steadhold.cli import exits, hints
from steadhold.cli.program import program
from steadhold.sdk.errors import OutcomeUnknown, Problem, Said
from steadhold.sdk.grammar import Send
from steadhold.web.codes import PROBLEMS
from tests.cli.conftest import problem

QUOTED = re.compile(r"`steadhold ([^`]*)`")
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")
FILES = sorted(Path(steadhold.cli.__file__).parent.glob("*.py"))
EXTRAS = [{}, {"current_revision": 3}, {"count": 3}, {"scope": "workspaces:read"}]
"""What hints are made of besides the code."""


def leaves(command, ctx):
    """Every command, with its context as it is when it runs."""
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            yield from leaves(below, click.Context(below, ctx, info_name=name))
    else:
        yield ctx


def typed():
    """Commands that ask a server."""
    every = leaves(program, click.Context(program, info_name="steadhold"))
    return [ctx for ctx in every if "--url" in hints.options(ctx.command)]


def faults(text, ctx=None):
    """What a hint names that is not there: commands, options of those, and bare options of the command typed."""
    for words in QUOTED.findall(text):
        yield from _of_command(words.split())
    bare = OPTION.findall(QUOTED.sub("", text))
    if ctx is not None:
        yield from (f"{option}, bare" for option in bare if option not in hints.options(ctx.command))


def _of_command(words):
    command, ctx = program, click.Context(program, info_name="steadhold")
    while isinstance(command, click.Group):
        word = words.pop(0) if words else ""
        if word in {"", "…", "--help"} or "{" in word:
            return
        below = command.get_command(ctx, word)
        if below is None:
            yield f"steadhold {word}"
            return
        command, ctx = below, click.Context(below, ctx, info_name=word)
    told = [word for word in words if OPTION.fullmatch(word)]
    yield from (f"{ctx.command_path} {option}" for option in told if option not in hints.options(command))


def refusals():
    for (code, kind), extras in product(PROBLEMS.items(), EXTRAS):
        yield Problem(Said(kind.status, code, next=kind.next, extras=extras))


def given(ctx):
    """What may have been said with a command: nothing, or what hints ask for."""
    names = [one.name for one in ctx.command.params]
    return [{name: said for name in names if name in {"create", "revision", "workspace"}} for said in (None, 1)]


def after(errors, ctx):
    """All that is said next after refusals of a command."""
    for said, url in product(given(ctx), ("http://h", "http://h/v1")):
        ctx.params = said
        yield from (hints.next_step(error, ctx, url) or exits.next_of(error) for error in errors)


def test_a_refusal_names_what_the_command_has():
    errors = list(refusals())
    found = {
        f"{ctx.command_path}: {fault}"
        for ctx in typed()
        for text in {*after(errors, ctx)}
        for fault in faults(text, ctx)
    }
    assert found == set()


@pytest.mark.parametrize("identity", ["receipt", "own"])
def test_a_lost_answer_names_what_the_command_has(identity):
    found = set()
    for ctx, operation_id in product(typed(), ["op-1", ""]):
        lost = OutcomeUnknown(operation_id, "It was cut.", Send("POST", "/v1/a", identity=identity))
        text = exits.unknown(lost, hints.once_more(lost, ctx)).next
        found |= {f"{ctx.command_path}: {fault}" for fault in faults(text, ctx)}
    assert found == set()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_file_quotes_is_there(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    texts = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr)]
    assert {fault for text in texts for fault in faults(text)} == set()


def test_what_is_not_there_is_found():
    assert list(faults("`steadhold state pit NAME`")) == ["steadhold pit"]
    assert list(faults("`steadhold state delete NAME --create`")) == ["steadhold state delete --create"]
    delete = next(ctx for ctx in typed() if ctx.command_path == "steadhold state delete")
    assert list(faults("Say --create or --if-match.", delete)) == ["--create, bare"]


def test_who_expected_another_number_is_told_how_many_there_are(steadhold, server):
    server.then(problem(409, "count_changed", next="reread", count=7))
    said = steadhold("publications", "retry-parked", "--expect-count", "5", code=3).stderr
    assert "Next: Look again, then decide anew: --expect-count 7 is how many there are now." in said


@pytest.mark.parametrize("words", ["state delete a --if-match 3", "context rm a --if-match 3"])
def test_who_deletes_nothing_is_not_told_to_create_it(steadhold, server, words):
    server.then(problem(412, "condition_false", next="reread"), problem(404, "not_found"))
    said = steadhold(*words.split(), code=3).stderr
    assert "There is nothing of this name any more, or never was. `steadhold" in said
    gone = steadhold(*words.split(), code=4).stderr
    assert "lists those that there are" in gone
    assert "--create" not in said + gone


GRANTS = {
    "lock:deploy": "locks show deploy",
    "job:0198f3c2-7d1e-7c3a-9b1f-2f6a0c9d4e11": "jobs show 0198f3c2-7d1e-7c3a-9b1f-2f6a0c9d4e11",
    "consumer:orders/billing": "consumers show orders billing",
}


@pytest.mark.parametrize("grant", GRANTS)
def test_whose_grant_has_ended_is_told_to_stop_and_what_tells_of_it(steadhold, server, grant):
    server.then(problem(409, "stale_fence", subject=grant))
    said = steadhold("state", "put", "a", "1", "--create", "--fence", f"{grant}=3", code=3).stderr
    assert "Next: Stop what relied on this grant: it has ended, or somebody else has it." in said
    assert f"`steadhold {GRANTS[grant]}` tells how it stands." in said


@pytest.mark.parametrize("room", sorted({ctx.command_path.split()[1] for ctx in typed()}))
def test_no_conflict_leaves_without_a_next_step(room):
    conflicts = [error for error in refusals() if exits.refusal(error).code == exits.CONFLICT]
    assert {error.code for error in conflicts} >= {"stale_fence", "operation_mismatch", "lock_held"}
    for ctx in (one for one in typed() if one.command_path.split()[1] == room):
        silent = {error.code for error in conflicts if not hints.next_step(error, ctx, "http://h")}
        assert silent == set(), ctx.command_path


@pytest.mark.parametrize(
    ("line", "refused", "next"),
    [
        ("locks renew 'a;b' 1", problem(409, "lock_lost"), "locks show 'a;b'"),
        ("approvals withdraw p1", problem(409, "approval_ended"), "approvals show p1"),
        ("consumers create q1 c1 --start e:9", problem(422, "beyond_head"), "inbox show q1"),
        ("inbox ack q1 c1 e 9", problem(422, "beyond_head"), "inbox show q1"),
        ("inbox ack q1 c1 e 9", problem(409, "inbox_restored"), "consumers show q1 c1"),
        ("inbox ack q1 c1 e 9", problem(409, "gap_not_accepted", to=7), "inbox ack q1 c1 e 9 --accept-gap-through 7"),
        ("inbox read q1", problem(409, "inbox_restored"), "consumers show q1 CONSUMER"),
        ("doors create q1 github", problem(409, "doors_full"), "doors ls q1"),
        ("jobs submit t --unique-key k", problem(409, "key_conflict"), "jobs ls --unique-key k"),
        ("trigger t --webhook w1", problem(409, "webhook_disabled"), "webhooks enable w1"),
        ("webhooks cancel d1", problem(409, "delivery_ended"), "webhooks delivery d1"),
        ("state get a --revision 2", problem(410, "revision_pruned"), "state revisions a"),
        ("context get a --revision 2", problem(410, "revision_pruned"), "context revisions a"),
    ],
)
def test_a_next_step_has_the_names_that_were_typed(steadhold, server, line, refused, next):
    server.then(refused)
    code = {409: 3, 410: 4, 422: 1}[refused.status_code]
    assert f"`steadhold {next}`" in steadhold(*shlex.split(line), code=code).stderr
