"""Statements and the plans that use them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tools.tidy.tree import PACKAGE, Tree

NAMED: Final = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)
PART: Final = re.compile(r"^-- part: (\w+)[ \t]*$", re.MULTILINE)
PLACE: Final = re.compile(r"\{(\w+)\}")
COMMENT: Final = re.compile(r"--.*")
STRING: Final = re.compile(r"'(?:[^']|'')*'")
UNCAST: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)\b(?!\s*::)")
STATEMENT_LINES_MAX: Final = 90  # a hot one settles many items at once, and has to answer where others would fail
EVERYWHERE: Final = re.compile(r"^-- all workspaces: \S", re.MULTILINE)

MIGRATIONS: Final = f"{PACKAGE}/db/migrations"
TABLE: Final = re.compile(r"create table (?:if not exists )?steadhold\.(\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)
TABLE_KEY: Final = re.compile(
    r"(?:primary key|unique) \((\w+)|^\s*(\w+) [^(,]*?\b(?:primary key|unique)\b(?! \()", re.MULTILINE
)
INDEX: Final = re.compile(r"create (?:unique )?index (?:if not exists )?\w+ on steadhold\.(\w+)(?: using \w+)? \((\w+)")
ENCLOSED: Final = re.compile(r"'steadhold\.(\w+)'")
OF_ALL: Final = {
    "house": "one row about the whole database",
    "key_places": "says which workspace a key belongs to, before any is known",
    "door_places": "says which workspace an address belongs to, before any is known",
}


def statements(tree: Tree, path: str) -> list[tuple[str, str]]:
    """Names and texts of one file's statements, each with the parts that it shares with others."""
    top, *named = NAMED.split(tree.text(path))
    _, *shared = PART.split(top)
    parts = dict(zip(shared[::2], shared[1::2], strict=True))
    texts = (PLACE.sub(lambda m: parts.get(m[1], m[0]), text) for text in named[1::2])
    return list(zip(named[::2], texts, strict=True))


def sql_names(tree: Tree) -> Iterator[str]:
    """Every statement is used by its folder, every part by a statement; each name is given once and names something."""
    for path in tree.under(PACKAGE, ends="/statements.sql"):
        folder = path.rpartition("/")[0]
        named = Counter(name for name, _ in statements(tree, path))
        used = {name: where for file in tree.python(folder) for name, where in _uses(tree, file)}
        yield from (f"{path}: {name} is named {count} times" for name, count in named.items() if count > 1)
        yield from (f"{path}: nothing uses {part}" for part in _unused_parts(tree.text(path)))
        yield from (f"{path}: nothing uses {name}" for name in named.keys() - used.keys())
        yield from (f"{used[name]}: no statement is named {name}" for name in used.keys() - named.keys())


def _unused_parts(text: str) -> list[str]:
    return sorted({*PART.findall(text)} - {*PLACE.findall(text)})


def _uses(tree: Tree, path: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree.syntax(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "SQL":
            yield node.attr, f"{path}:{node.lineno}"


def short_statements(tree: Tree) -> Iterator[str]:
    """A statement fits on a page, comments aside; a room's file of them may be long: it is looked up by name."""
    for path in tree.under(PACKAGE, ends="/statements.sql"):
        for name, text in statements(tree, path):
            lines = sum(1 for line in COMMENT.sub("", text).splitlines() if line.strip())
            if lines > STATEMENT_LINES_MAX:
                yield f"{path}: {name} has {lines} lines, more than {STATEMENT_LINES_MAX}"


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


def led_by_workspace(tree: Tree) -> Iterator[str]:
    """The workspace leads every key and index, so the schema can be spread by it."""
    for path in tree.under(MIGRATIONS, ends=".sql"):
        text = COMMENT.sub("", tree.text(path))
        keys = [(table, m[1] or m[2]) for table, body in TABLE.findall(text) for m in TABLE_KEY.finditer(body)]
        for table, first in (*keys, *INDEX.findall(text)):
            if first != "workspace" and table not in OF_ALL:
                yield f"{path}: a key or index of {table} begins with {first}, not with its workspace"


def enclosed(tree: Tree) -> Iterator[str]:
    """Row security confines every table to one workspace."""
    paths = tree.under(MIGRATIONS, ends=".sql")
    calls = [part for p in paths for part in COMMENT.sub("", tree.text(p)).split(";") if "steadhold.enclose(" in part]
    walled = {name for part in calls for name in ENCLOSED.findall(part)}
    for path in paths:
        for table, _ in TABLE.findall(COMMENT.sub("", tree.text(path))):
            if table not in walled and table != "house":
                yield f"{path}: {table} is not enclosed: select steadhold.enclose('steadhold.{table}')"
