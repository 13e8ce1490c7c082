"""What a verb takes: a rule beside the type of a parameter or of a field, which the library tests before it plays.

`name: Path` is a `str` to a type checker and to whoever reads; `Operation.__call__` finds the rule beside it. A route
has tested what came through its door and plays a call, so nothing is tested twice. Design law 12: misuse is loud.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from msgspec import Meta, Struct

from steadhold.kit import exact, limits
from steadhold.kit.ids import HASH_PATTERN, ID_PATTERN, NO_NUL, UUID_PATTERN, id_fault, whole
from steadhold.kit.paths import path_fault

Fault: TypeAlias = tuple[str, str]
"""Where it is, as in `asked.quorum`, and why it cannot be so, as a sentence."""
Tester: TypeAlias = Callable[[str, Any], Iterator[Fault]]


class Misuse(ValueError):
    """An argument that its verb does not take; nothing was asked of the database. The text says which, and why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that says why a value cannot be, as a sentence, or None where it can."""

    fault: Callable[[Any], str | None]


def json_fault(most: int, raw: bytes | str) -> str | None:
    """Why these are not at most `most` bytes of exact JSON, as a sentence."""
    if isinstance(raw, str):
        return "Bytes are wanted; this is text."
    if len(raw) > most:
        return f"At most {most} bytes; these are {len(raw)}."
    wrong = exact.check(raw)
    return None if wrong is None else f"No exact JSON: {wrong.why}"


def json_of(most: int) -> Rule:
    """Exact JSON of at most `most` bytes."""
    return Rule(functools.partial(json_fault, most))


Id: TypeAlias = Annotated[str, Meta(pattern=whole(ID_PATTERN)), Rule(id_fault)]
Uuid: TypeAlias = Annotated[str, Meta(pattern=whole(UUID_PATTERN))]
Path: TypeAlias = Annotated[str, Rule(path_fault)]
Hash: TypeAlias = Annotated[str, Meta(pattern=whole(HASH_PATTERN))]
Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.TEXT_CHARS_MAX, pattern=NO_NUL)]
Comment: TypeAlias = Annotated[str, Meta(max_length=limits.TEXT_CHARS_MAX, pattern=NO_NUL)]
Reference: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.TEXT_CHARS_MAX, pattern=NO_NUL)]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
Delay: TypeAlias = Annotated[float, Meta(ge=0, le=limits.DELAY_SECONDS_MAX)]
Fence: TypeAlias = Annotated[int, Meta(ge=1, le=limits.FENCE_NUMBER_MAX)]
Length: TypeAlias = Annotated[float, Meta(ge=limits.LEASE_SECONDS_MIN, le=limits.LEASE_SECONDS_MAX)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=limits.DELAY_SECONDS_MAX)]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=limits.PAGE_ITEMS_MAX)]
Bytes: TypeAlias = Annotated[int, Meta(ge=1)]


def test(plan: Callable[..., Any], name: str, args: Sequence[Any], kw: Mapping[str, Any]) -> None:
    """Raise `Misuse` where an argument breaks the rule beside its parameter."""
    given = signature(plan).bind(*args, **kw).arguments
    for parameter, tester in _testers(plan).items():
        for where, why in tester(parameter, given[parameter]) if parameter in given else ():
            raise Misuse(f"{name}: {where}: {why}")


@functools.cache
def signature(plan: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a plan, the rules beside their types."""
    hints = typing.get_type_hints(plan, include_extras=True)
    said = inspect.signature(plan)
    ruled = [one.replace(annotation=hints.get(one.name, Any)) for one in said.parameters.values()]
    return said.replace(parameters=ruled)


@functools.cache
def _testers(plan: Callable[..., Any]) -> dict[str, Tester]:
    """What tests the arguments of those parameters that have rules."""
    told = signature(plan).parameters.values()
    return {one.name: tester for one in told if (tester := _tester(one.annotation))}


def _tester(hint: Any) -> Tester | None:
    """What tests values of a type; None where nothing in it has a rule."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _both(_tester(inner[0]), _ruled(inner[0], inner[1:]))
    if origin in (Union, types.UnionType):
        return _either(inner)
    if origin in (tuple, list, Sequence) and inner:
        return _all(_tester(inner[0]))
    if origin is Literal:
        return _named(inner)
    return _structure(hint) if isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Struct)) else None


def _named(names: Sequence[object]) -> Tester:
    def tester(where: str, value: Any) -> Iterator[Fault]:
        if value not in names:
            yield where, f"It is one of {', '.join(map(str, names))}; this is {value!a:.60}."

    return tester


def _both(one: Tester | None, other: Tester | None) -> Tester | None:
    if one is None or other is None:
        return one or other
    return lambda where, value: itertools.chain(one(where, value), other(where, value))


def _ruled(of: Any, said: Sequence[Any]) -> Tester | None:
    kinds: tuple[type, ...] = (int, float) if of is float else (get_origin(of) or of,)
    faults = [one.fault for one in said if isinstance(one, Rule)]
    faults = faults or [functools.partial(_bounds_fault, one) for one in said if isinstance(one, Meta)]

    def tester(where: str, value: Any) -> Iterator[Fault]:
        if not isinstance(value, kinds) or (isinstance(value, bool) and of is not bool):
            yield where, f"{of.__name__} is wanted; this is {type(value).__name__}."
            return
        yield from ((where, why) for fault in faults if (why := fault(value)))

    return tester if faults else None


def _bounds_fault(meta: Meta, value: float | datetime | Sized) -> str | None:
    """What the doors read from the same words; a NaN is within no bounds."""
    if isinstance(value, datetime):
        return None if value.tzinfo or not meta.tz else "It has a time zone; this one has none."
    size = len(value) if isinstance(value, Sized) else value
    for word, bound, holds in (
        ("more than", meta.gt, operator.gt),
        ("at least", meta.ge if meta.min_length is None else meta.min_length, operator.ge),
        ("less than", meta.lt, operator.lt),
        ("at most", meta.le if meta.max_length is None else meta.max_length, operator.le),
    ):
        if bound is not None and not holds(size, bound):
            return f"It is {word} {bound:g}; this is {size!r}."
    if isinstance(value, str) and meta.pattern is not None and not re.search(meta.pattern, value):
        return "It holds no NUL." if meta.pattern == NO_NUL else f"It matches {meta.pattern}; this is {value!a:.60}."
    return None


def _either(options: Sequence[Any]) -> Tester | None:
    """A value is tested as the one of its options that it is; where one alone is no None, as that."""
    testers = [(option, found) for option in options if (found := _tester(option))]
    alone = len([option for option in options if option is not types.NoneType]) == 1

    def tester(where: str, value: Any) -> Iterator[Fault]:
        for option, fault in testers:
            if value is not None and (alone or _is(value, option)):
                yield from fault(where, value)

    return tester if testers else None


def _is(value: Any, option: Any) -> bool:
    while get_origin(option) is Annotated:
        option = get_args(option)[0]
    return isinstance(value, get_origin(option) or option) and not (isinstance(value, str) and option is not str)


def _all(one: Tester | None) -> Tester | None:
    if one is None:
        return None

    def tester(where: str, value: Any) -> Iterator[Fault]:
        if isinstance(value, str | bytes):
            yield where, f"A list is wanted; this is {type(value).__name__}."
            return
        for place, item in enumerate(value):
            yield from one(f"{where}[{place}]", item)

    return tester


@functools.cache
def _structure(of: Any) -> Tester | None:
    hints = typing.get_type_hints(of, include_extras=True)
    testers = {name: found for name, hint in hints.items() if (found := _tester(hint))}

    def tester(where: str, value: Any) -> Iterator[Fault]:
        for name, fault in testers.items() if isinstance(value, of) else ():
            yield from fault(f"{where}.{name}", getattr(value, name))

    return tester if testers else None
