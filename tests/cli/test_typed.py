"""What is typed where a number or an id is wanted is sent as one, or is a usage error: never a traceback."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from steadhold.cli import exits, hints
from steadhold.cli.amounts import Measure, Whole
from steadhold.cli.database import NAMES
from steadhold.cli.naming import an_id
from steadhold.cli.program import program
from tests.cli.conftest import problem
from tests.cli.test_fences import ROOMS, asking, file, words  # noqa: F401 - a fixture
from tests.cli.test_hints import leaves

WHOLE, MEASURE = (click.IntRange, click.types.IntParamType), (click.FloatRange, click.types.FloatParamType)
LONG = "9" * 5_000
UNPLAIN = ["1_0", "+1", " 1", "1 ", "1\n", "\u0661", "1\u0662", "1e1", "0x1", "", "-", "x"]
COUNTS = ["9" * 17, "9" * 4_000, LONG, "1.0", *UNPLAIN]
MEASURES = ["nan", "inf", "1e400", LONG, "1_0.5", ".", "1.\u0662", "1.5.5", *UNPLAIN]
TEXTS = [LONG, f"a:{LONG}", f"lock:a={LONG}", "a b", "a\nb", "\u00b2", "a:\u00b2", "", "http://a:b"]
EVENT = '{"key":"k","type":"t","data":'
CONTENTS = [
    b"",
    b"\xff\xfe",
    b'{"key":"\xff"}',
    b"{}",
    b"[]",
    b"NaN",
    b"\0",
    b"[" * 99_999,
    f"{EVENT}9e999999}}".encode(),
]
CONTENTS += [f"{EVENT}{'[' * 5_000}{']' * 5_000}}}".encode(), f'{{"every_seconds":{LONG}}}'.encode()]
DOCUMENTED = range(exits.LOST)


@pytest.fixture(autouse=True)
def _files_are_written_elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def said_with(ctx, file, one, text):  # noqa: F811
    """A command as it could be typed, with this text for one of its parameters."""
    said = words(ctx, file)
    if isinstance(one, click.Option):
        kept = [word for at, word in enumerate(said) if not {word, said[at - 1] if at else ""} & {*one.opts}]
        at = kept.index("--") if "--" in kept else len(kept)
        return [*kept[:at], f"{one.opts[0]}={text}", *kept[at:]]
    before = len(ctx.command_path.split()) - 1
    for each in ctx.command.params[: ctx.command.params.index(one)]:
        before += each.required and (1 if isinstance(each, click.Argument) else 2)
    return [*said[:before], text, *said[before + 1 :]]


def params(room):
    """What can be typed; but for programs that would be run, and for databases, which no server is asked about."""
    for ctx in asking():
        if ctx.command_path.split()[1] == room:
            yield from ((ctx, one) for one in ctx.command.params if one.name not in {"command", "config", *NAMES})


def ended(said):
    result = CliRunner().invoke(program, said, prog_name="steadhold")
    assert isinstance(result.exception, SystemExit | None), (said, result.exception)
    return result.exit_code


@pytest.mark.parametrize("room", ROOMS)
def test_a_number_that_nothing_holds_is_a_usage_error(server, file, room):  # noqa: F811
    server.then(problem(404, "not_found"))
    for ctx, one in params(room):
        texts = COUNTS if isinstance(one.type, WHOLE) else MEASURES if isinstance(one.type, MEASURE) else []
        for said in (said_with(ctx, file, one, text) for text in texts):
            assert (ended(said), server.requests) == (2, []), said


def test_every_number_is_typed_in_plain_digits():
    numbers = [
        (ctx.command_path, one.name, type(one.type))
        for ctx in leaves(program, click.Context(program, info_name="steadhold"))
        for one in ctx.command.params
        if isinstance(one.type, WHOLE + MEASURE)
    ]
    assert len(numbers) > 60
    assert [number for number in numbers if number[2] not in {Whole, Measure}] == []


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("0.5", 0.5), (".5", 0.5), ("3.", 3.0)])
def test_a_measure_has_a_point_or_none(text, number):
    assert Measure(min=0).convert(text, None, None) == number


@pytest.mark.parametrize("room", ROOMS)
def test_no_text_ends_in_a_traceback(server, file, room):  # noqa: F811
    server.then(problem(404, "not_found"))
    for ctx, one in params(room):
        if not (isinstance(one.type, WHOLE + MEASURE) or (isinstance(one, click.Option) and one.is_flag)):
            for text in TEXTS:
                assert ended(said_with(ctx, file, one, text)) in DOCUMENTED


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_ends_in_a_traceback(server, file, room, tmp_path):  # noqa: F811
    server.then(problem(404, "not_found"))
    wrong = tmp_path / "wrong"
    for ctx, one in params(room):
        if isinstance(one.type, click.Path | click.File):
            for content in CONTENTS:
                wrong.write_bytes(content)
                assert ended(said_with(ctx, file, one, str(wrong))) in DOCUMENTED
                bare = [word for word in said_with(ctx, file, one, str(wrong)) if word != "1"]
                assert ended(bare) in DOCUMENTED


def test_a_change_is_named_by_an_id():
    every = leaves(program, click.Context(program, info_name="steadhold"))
    naming = [one for ctx in every for one in ctx.command.params if {*one.opts} & {*hints.NAMES_A_CHANGE}]
    assert len(naming) > 40
    assert {getattr(one.type, "func", None) for one in naming} == {an_id}
