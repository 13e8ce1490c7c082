"""commits: what several calls come to together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Call, Refusal

Part: TypeAlias = Literal["require", "apply"]
REQUIRE: Final = "require"
APPLY: Final = "apply"


@dataclass(frozen=True, slots=True)
class Committed:
    """All conditions were true and all changes were made: what each came to, in the order asked."""

    require: tuple[Any, ...]
    apply: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Refused(Refusal):
    """Nothing was made, since item `index` of a list was refused: `outcome` is what its own room says."""

    list: Part
    index: int
    outcome: Refusal


@dataclass(frozen=True, slots=True)
class RepeatedName(Refusal):
    """Two items of one list are about the same thing; `index` is the second. Nothing was made."""

    list: Part
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    """One call in its list."""

    list: Part
    index: int
    call: Call[Any]


CommitOutcome: TypeAlias = Committed | Refused | RepeatedName | StaleFence


def items(require: Sequence[Call[Any]], apply: Sequence[Call[Any]]) -> tuple[Item, ...]:
    """The calls of both lists in one order: conditions first."""
    return (
        *(Item(REQUIRE, n, call) for n, call in enumerate(require)),
        *(Item(APPLY, n, call) for n, call in enumerate(apply)),
    )


def repeated(asked: Sequence[Item]) -> RepeatedName | None:
    """The first item about what an earlier one of its list is about already, as far as calls say so."""
    seen: set[tuple[str, str]] = set()
    for item in asked:
        subject = item.call.subject
        if subject and (item.list, subject) in seen:
            return RepeatedName(item.list, item.index, subject.partition(":")[2])
        seen.add((item.list, subject))
    return None


def first_stale(refused: Sequence[Refused]) -> Refused | None:
    """The first of some refusals that is about a grant: who may not act at all is told nothing else."""
    return next((each for each in refused if isinstance(each.outcome, StaleFence)), None)
