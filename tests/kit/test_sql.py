"""How a file of statements is read."""

from __future__ import annotations

import pytest

from steadhold.kit.sql import parse

SHARED = """
-- About the whole file.

-- part: thing
-- What is read of a thing `t`.
t.id,
  t.revision

-- name: look
-- rank: read by id
select i.n, {thing} from unnest(:id::text[]) with ordinality as i(id, n) join t on t.id = i.id

-- name: all
-- rank: read
select {thing}, '{}' from t;
"""


def test_a_part_stands_for_what_it_says():
    sql = parse(SHARED, "toy")
    assert [one.name for one in sql] == ["toy.look", "toy.all"]
    assert sql.look.numbered.startswith("select i.n, t.id,\n  t.revision from unnest($1::text[])")
    assert sql.all.numbered == "select t.id,\n  t.revision, '{}' from t"


def test_a_part_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"toy\.all: there is no part of the name thong"):
        parse(SHARED.replace("select {thing}, ", "select {thong}, "), "toy")
