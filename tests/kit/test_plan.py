"""Statements are parsed, cast and ranked; plans compose; a vector answers each item."""

from __future__ import annotations

import pytest

from steadhold.kit.plan import Call, Refusal, Step, each, maybe, one, operation, rows, undoable
from steadhold.kit.ranks import RANKS, place
from steadhold.kit.sql import parse
from steadhold.play.trampoline import run

TEXT = """
-- name: look
-- rank: names by name
-- Why it is here.
select i.n, i.name from unnest(:name::text[], :size::bigint[]) with ordinality as i(name, size, n)
where :workspace::text = 'a' and i.name like '100%';

-- name: clear
-- rank: read
select 1 where :kinds::text[] is null
"""
SQL = parse(TEXT, "toy")


def test_a_vector_takes_columns_and_shares_the_rest():
    """Array parameters are columns of items, the others are given once."""
    items = [{"workspace": "a", "name": "x", "size": 1}, {"workspace": "a", "name": "y", "size": 2}]
    assert SQL.look.bind(items) == [["x", "y"], [1, 2], "a"]
    assert SQL.look.numbered.startswith("select i.n, i.name from unnest($1::text[], $2::bigint[])")
    assert SQL.look.numbered.endswith("like '100%'")
    assert "%(name)s::text[]" in SQL.look.percent
    assert SQL.look.percent.endswith("'100%%'")


def test_without_by_an_array_is_one_argument():
    """A statement that is no vector passes an array as it is."""
    assert SQL.clear.bind([{"kinds": ["x", "y"]}]) == [["x", "y"]]


def test_rows_are_dealt_by_their_ordinal():
    """Each item gets the rows that answer it, in the order in which they came."""
    assert SQL.look.deal(3, [(3, "c"), (1, "a"), (3, "d")]) == [[("a",)], [], [("c",), ("d",)]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-- name: a\nselect 1", "-- rank"),
        ("-- name: a\n-- rank: nowhere\nselect 1", "nowhere"),
        ("-- name: a\n-- rank: names by gone\nselect :x::text[]", "gone"),
    ],
)
def test_a_statement_that_is_not_ranked_is_refused(text, says):
    """Each statement says where it stands in the lock order, and what it is sorted by."""
    with pytest.raises((ValueError, KeyError), match=says):
        parse(text, "toy")


def test_an_unknown_statement_names_those_there_are():
    """A typing mistake is answered with the list."""
    with pytest.raises(AttributeError, match="look"):
        _ = SQL.lock


def test_the_lock_order_is_total():
    """Every rank has its own place; reading has none."""
    assert sorted(map(place, RANKS)) == list(range(len(RANKS)))
    assert place("read") < 0


def answering(*hands):
    """Ask nothing of a database: answer with these rows, and remember what was asked."""
    left, asked = list(hands), []

    def ask(sql, items):
        asked.append((sql.name, [dict(item) for item in items]))
        return left.pop(0)

    return ask, asked


def test_items_are_sorted_by_their_keys_and_answered_in_order():
    """The player takes locks in the order of the keys; the plan sees its own order."""

    def plan():
        return (yield from each(SQL.look, [{"workspace": "a", "name": n, "size": 0} for n in "cab"]))

    ask, asked = answering([(1, "A"), (2, "B"), (3, "C")])
    assert run(plan(), ask) == [[("C",)], [("A",)], [("B",)]]
    assert [item["name"] for item in asked[0][1]] == ["a", "b", "c"]


def test_items_that_differ_in_what_they_share_go_apart():
    """A parameter that is no column is given once, so only items that agree in it are merged, in lock order."""
    sql = parse(
        """
        -- name: cut
        -- rank: names by name
        select i.n from unnest(:name::text[]) with ordinality as i(name, n) where :most::int > 0
        """.replace("        ", ""),
        "toy",
    ).cut

    def plan():
        return (yield from each(sql, [{"name": name, "most": most} for name, most in (("b", 1), ("c", 2), ("a", 1))]))

    ask, asked = answering([(1, "A"), (2, "B")], [(1, "C")])
    assert run(plan(), ask) == [[("B",)], [("C",)], [("A",)]]
    assert [[item["name"] for item in items] for _, items in asked] == [["a", "b"], ["c"]]


def test_each_of_nothing_asks_nothing():
    """No items, no statement."""

    def plan():
        return (yield from each(SQL.look, []))

    ask, asked = answering()
    assert run(plan(), ask) == []
    assert asked == []


def test_maybe_and_one():
    """`maybe` answers None for no row; `one` insists."""

    def plan(read):
        return (yield from read(SQL.clear, str, kinds=None))

    assert run(plan(maybe), answering([])[0]) is None
    assert run(plan(maybe), answering([("x",)])[0]) == "x"
    with pytest.raises(AssertionError, match="promises one"):
        run(plan(one), answering([])[0])


class No(Refusal):
    """A refusal."""


@pytest.mark.parametrize(("outcome", "undone"), [(No(), True), ("yes", False)])
def test_undoable_rolls_back_to_its_savepoint_where_refused(outcome, undone):
    """What a refused plan wrote is taken back; what an accepted one wrote stays."""

    def plan():
        yield from rows(SQL.clear, kinds=None)
        return outcome

    ask, asked = answering([], [], [], [])
    assert run(undoable(plan()), ask) is outcome
    assert ("plan.undo" in [name for name, _ in asked]) is undone


def test_an_operation_binds_a_call_that_can_begin_again():
    """A call names its verb and what it is about, and begins a new plan each time."""

    @operation
    def greet(workspace: str, name: str):
        yield from rows(SQL.look, workspace=workspace, name=name, size=0)
        return name

    call = greet.call("a", "x")
    assert isinstance(call, Call)
    assert (call.workspace, call.single) == ("a", False)
    assert call.subject.endswith(":x")
    assert isinstance(next(call.begin()), Step)
    assert call.begin() is not call.begin()
