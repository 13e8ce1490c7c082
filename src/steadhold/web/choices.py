"""What a body may say at a place: for the answer to whoever said something else there."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect


def values(into: type[msgspec.Struct], pointer: str) -> list[str]:
    """The words that the member at a JSON Pointer takes; none where it takes others than words."""
    found = _at(into, pointer)
    words = [value for kind in found if isinstance(kind, inspect.LiteralType) for value in kind.values]
    return [word for word in words if isinstance(word, str)]


def members(into: type[msgspec.Struct], pointer: str) -> list[str]:
    """The members of the object at a JSON Pointer, as they are written; none where several kinds of objects may be."""
    kinds = [kind for kind in _at(into, pointer) if isinstance(kind, inspect.StructType)]
    return [field.encode_name for field in kinds[0].fields] if len(kinds) == 1 else []


@functools.lru_cache(maxsize=512)
def _at(into: type[msgspec.Struct], pointer: str) -> tuple[inspect.Type, ...]:
    found = tuple(_each(inspect.type_info(into)))
    for step in pointer.split("/")[1:]:
        found = tuple(inner for kind in found for inner in _inside(kind, step))
    return found


def _inside(kind: Any, step: str) -> Iterator[inspect.Type]:
    """What may stand behind one step of a pointer."""
    if isinstance(kind, inspect.StructType):
        if kind.tag_field == step:
            yield inspect.LiteralType((kind.tag,))
        for field in kind.fields:
            if field.encode_name == step:
                yield from _each(field.type)
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType) and step.isdecimal():
        yield from _each(kind.item_type)


def _each(kind: Any) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from _each(one)
    elif isinstance(kind, inspect.Metadata):
        yield from _each(kind.type)
    else:
        yield kind
