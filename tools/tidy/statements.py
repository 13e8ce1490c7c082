"""Statements and the plans that use them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tools.tidy.tree import PACKAGE, Tree

NAMED: Final = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)
COMMENT: Final = re.compile(r"--.*")
STRING: Final = re.compile(r"'(?:[^']|'')*'")
UNCAST: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)\b(?!\s*::)")
EVERYWHERE: Final = re.compile(r"^-- all workspaces: \S", re.MULTILINE)


def statements(tree: Tree, path: str) -> list[tuple[str, str]]:
    """Names and texts of one file's statements."""
    _, *parts = NAMED.split(tree.text(path))
    return list(zip(parts[::2], parts[1::2], strict=True))


def sql_names(tree: Tree) -> Iterator[str]:
    """Every statement is used by its folder, once named, and every name used is a statement."""
    for path in tree.under(PACKAGE, ends="/statements.sql"):
        folder = path.rpartition("/")[0]
        named = Counter(name for name, _ in statements(tree, path))
        used = {name: where for file in tree.python(folder) for name, where in _uses(tree, file)}
        yield from (f"{path}: {name} is named {count} times" for name, count in named.items() if count > 1)
        yield from (f"{path}: nothing uses {name}" for name in named.keys() - used.keys())
        yield from (f"{used[name]}: no statement is named {name}" for name in used.keys() - named.keys())


def _uses(tree: Tree, path: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree.syntax(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "SQL":
            yield node.attr, f"{path}:{node.lineno}"


def cast(tree: Tree) -> Iterator[str]:
    """Every parameter is cast: otherwise it is no parameter to the loader, and no driver agrees on its type."""
    for path in tree.under(PACKAGE, ends="/statements.sql"):
        for name, text in statements(tree, path):
            for match in UNCAST.finditer(STRING.sub("''", COMMENT.sub("", text))):
                yield f"{path}: {name} does not cast :{match[1]}"


def confined(tree: Tree) -> Iterator[str]:
    """Every statement is confined to one workspace, or says `-- all workspaces: why`."""
    for path in tree.under(PACKAGE, ends="/statements.sql"):
        for name, text in statements(tree, path):
            if ":workspace::text" not in text and not EVERYWHERE.search(text):
                yield f"{path}: {name} names no :workspace::text; if it must not, say `-- all workspaces: why`"
