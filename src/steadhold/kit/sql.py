"""Statements live in a room's `statements.sql`, named, cast and ranked; this loads them.

```sql
-- name: write
-- rank: names by name
-- One writer wins per expected revision.
with i as (select * from unnest(:name::text[]) with ordinality as i(name, n)) …
```

`by` makes it a vector statement: a parameter cast to an array is a column of items, of which a plan
gives one value and the player an array, and the first result column is the ordinal of the item that
the row answers. Without `by` the statement is executed once for each item.

A line `-- planned anew` says that its plan depends on what it is asked: our players, which otherwise have
PostgreSQL keep one plan for all arguments, let it be planned each time.

What several statements of a file say alike may stand once, above them all: what follows a line `-- part: house` is what
`{house}` stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from steadhold.kit import ranks

Row: TypeAlias = tuple[Any, ...]
Item: TypeAlias = Mapping[str, Any]

_PARAM: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)::([a-z0-9_]+)(\[\])?")
_NAME: Final = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)
_PART: Final = re.compile(r"^-- part: (\w+)[ \t]*$", re.MULTILINE)
_PLACE: Final = re.compile(r"\{(\w+)\}")
_RANK: Final = re.compile(r"^-- rank: (\w+)(?: by (\w+(?:, \w+)*))?[ \t]*$", re.MULTILINE)
_ANEW: Final = re.compile(r"^-- planned anew\b", re.MULTILINE)
READERS: Final = ("clock", "find_door", "find_key", "grant_end", "ready_keys", "result_ref", "used", "workspaces_after")
"""Functions of the house that change and lock nothing; all but the clock are declared so, which PostgreSQL enforces."""

_CHANGES: Final = re.compile(
    r"^(?!select|with)|\b(insert|update|delete|merge|for (update|share|no key|key))\b"
    r"|\b(set_config|nextval|pg_notify|pg_(try_)?advisory\w+)\("
    rf"|\bsteadhold\.(?!({'|'.join(READERS)})\()\w+\("
)
_COMMENT: Final = re.compile(r"^\s*--.*\n?", re.MULTILINE)


class Sql:
    """One statement, spoken in each driver's dialect.

    `numbered` has `$1`, `percent` has `%(name)s`. `shared` are a vector's parameters that are no columns, but for the
    workspace: items that differ in them cannot go together. `reads` says that it changes and locks nothing. `place` is
    where its rank stands in the lock order, and `order` where it stands itself: statements of one rank go in the order
    of their file.
    """

    __slots__ = ("anew", "by", "name", "numbered", "order", "params", "percent", "place", "rank", "reads", "shared")

    def __init__(
        self, name: str, text: str, rank: str, by: Sequence[str] = (), nth: int = 0, *, anew: bool = False
    ) -> None:
        self.name, self.rank, self.by, self.anew = name, rank, tuple(by), anew
        self.reads = rank == ranks.READ and not anew and not _CHANGES.search(text)
        self.place = ranks.place(rank)
        self.order = (self.place, nth, name)
        self.params: dict[str, bool] = {m[1]: bool(m[3]) and bool(by) for m in _PARAM.finditer(text)}
        self.shared = tuple(p for p, column in self.params.items() if not column and p != "workspace")
        order = {param: place for place, param in enumerate(self.params, 1)}
        self.numbered = _PARAM.sub(lambda m: f"${order[m[1]]}::{m[2]}{m[3] or ''}", text)
        self.percent = _PARAM.sub(lambda m: f"%({m[1]})s::{m[2]}{m[3] or ''}", text.replace("%", "%%"))
        if missing := set(by) - set(self.params):
            raise ValueError(f"{name}: `by` names {sorted(missing)}, which it has no parameter for")

    def __repr__(self) -> str:
        return f"Sql({self.name})"

    def bind(self, items: Sequence[Item]) -> list[Any]:
        """Turn items into arguments, in the order of `numbered`."""
        first = items[0]
        return [[item[p] for item in items] if column else first[p] for p, column in self.params.items()]

    def deal(self, count: int, got: Sequence[Sequence[Any]]) -> list[list[Row]]:
        """Give each of `count` items the rows that answer it."""
        if not self.by:
            return [[tuple(row) for row in got]]
        hands: list[list[Row]] = [[] for _ in range(count)]
        for row in got:
            n: int = row[0]
            hands[n - 1].append(tuple(row[1:]))
        return hands


class Statements:
    """A room's statements, one attribute each."""

    def __init__(self, found: Mapping[str, Sql]) -> None:
        self._found = dict(found)
        self.__dict__.update(found)

    def __getattr__(self, name: str) -> Sql:
        raise AttributeError(f"no statement is named {name}; there are {sorted(self._found)}")

    def __iter__(self) -> Iterator[Sql]:
        return iter(self._found.values())


def load(beside: str) -> Statements:
    """Read the `statements.sql` that lies beside a module, named by its `__file__`."""
    path = Path(beside).with_name("statements.sql")
    return parse(path.read_text(encoding="utf-8"), path.parent.name)


def parse(text: str, room: str) -> Statements:
    """Read named statements; a missing name, rank, cast or part is a ValueError that says which."""
    top, *named = _NAME.split(text)
    _, *shared = _PART.split(top)
    parts = {name: _bare(body) for name, body in _pairs(shared)}
    return Statements({name: _one(room, name, body, nth, parts) for nth, (name, body) in enumerate(_pairs(named))})


def _pairs(split: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(split[::2], split[1::2], strict=True)


def _bare(text: str) -> str:
    return _COMMENT.sub("", text).strip().rstrip(";")


def _one(room: str, name: str, body: str, nth: int, parts: Mapping[str, str]) -> Sql:
    ranked = _RANK.search(body)
    if not ranked:
        raise ValueError(f"{room}.{name}: add a line `-- rank: …` (one of {', '.join(ranks.RANKS)}, read)")
    by = ranked[2].split(", ") if ranked[2] else ()
    bare = _bare(body)
    if missing := set(_PLACE.findall(bare)) - parts.keys():
        raise ValueError(f"{room}.{name}: there is no part of the name {', '.join(sorted(missing))} above")
    whole = _PLACE.sub(lambda m: parts[m[1]], bare)
    return Sql(f"{room}.{name}", whole, ranked[1], by, nth, anew=bool(_ANEW.search(body)))
