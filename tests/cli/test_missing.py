"""Who names what is not there, or makes what is, is told which command tells what there is."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from steadhold.cli import exits
from steadhold.cli.program import program
from tests.cli.conftest import problem
from tests.cli.test_fences import ROOMS, asking, file, words  # noqa: F401 - a fixture
from tests.cli.test_hints import faults

CASES = {
    "inbox ack q1 c1 e 1": ["consumers ls q1", "inbox ls"],
    "consumers show q1 c1": ["consumers ls q1", "inbox ls"],
    "consumers delete q1 c1 --if-match 1": ["consumers ls q1", "inbox ls"],
    "consumers create q1 c1": ["inbox ls"],
    "consumers ls q1": ["inbox ls"],
    "doors show q1 d1": ["doors ls q1", "inbox ls"],
    "doors rotate q1 d1": ["doors ls q1", "inbox ls"],
    "doors ls q1": ["inbox ls"],
    "resend d1": ["webhooks deliveries ID"],
    "webhooks delivery d1": ["webhooks deliveries ID"],
    "webhooks cancel d1": ["webhooks deliveries ID"],
    "webhooks cancel-replay r1": ["webhooks replay ID --since TIME"],
    "trigger t --webhook w1": ["webhooks ls"],
    "events tail a1": ["events append a1 TYPE --create"],
    "state get a --revision 5": ["state revisions a"],
    "state get 'a b;c'": ["state ls", "state put 'a b;c' VALUE --create"],
    "private lift state p --if-match 1": ["private ls state"],
    "inbox show q1": ["inbox ls"],
}
NEEDS_NOTHING = {"steadhold events types", "steadhold events append", "steadhold lock run"}
"""Commands that name nothing that has to be there."""


@pytest.mark.parametrize("line", CASES)
def test_what_lists_the_names_that_were_typed_is_named(steadhold, server, line):
    server.then(problem(404, "not_found"))
    said = steadhold(*shlex.split(line), code=4).stderr
    assert said.split("`")[1::2] == [f"steadhold {one}" for one in CASES[line]]


@pytest.mark.parametrize("room", ROOMS)
def test_no_name_that_is_missing_leaves_without_a_next_step(server, file, room):  # noqa: F811
    server.then(problem(404, "not_found"))
    silent, wrong = set(), set()
    for ctx in (one for one in asking() if one.command_path.split()[1] == room):
        result = CliRunner().invoke(program, words(ctx, file), prog_name="steadhold")
        if result.exit_code == exits.NOT_FOUND and "Next: " not in result.stderr:
            silent.add(ctx.command_path)
        wrong |= {*faults(result.stderr.partition("Next: ")[2])}
    assert (silent - NEEDS_NOTHING, wrong) == (set(), set())


@pytest.mark.parametrize("line", ["inbox create q1", "consumers create q1 c1"])
def test_what_is_there_already_is_said_to_be(steadhold, server, line):
    server.then(problem(412, "condition_false", next="reread", current_revision=1))
    said = steadhold(*line.split(), code=3).stderr
    shown = line.replace("create", "show")
    assert f"Next: It is there already, and nothing was changed. `steadhold {shown}` tells how it stands." in said


@pytest.mark.parametrize("room", ROOMS)
def test_no_create_speaks_of_a_condition_that_nobody_named(server, file, room):  # noqa: F811
    server.then(problem(412, "condition_false", next="reread", current_revision=1))
    for ctx in (one for one in asking() if one.command_path.split()[1] == room and one.command.name == "create"):
        result = CliRunner().invoke(program, words(ctx, file), prog_name="steadhold")
        assert "Next: It is there already" in result.stderr, ctx.command_path


@pytest.mark.parametrize(
    ("status", "code"), [(409, "path_taken"), (409, "webhook_disabled"), (409, "workspace_exists")]
)
def test_what_is_in_the_way_is_told_with_the_command_that_helps(steadhold, server, status, code):
    server.then(problem(status, code))
    assert "Next: " in steadhold("context", "mv", "a", "b", "--if-match", 1, code=3).stderr
