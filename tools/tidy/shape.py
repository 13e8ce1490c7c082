"""Sizes, the files of a room, and where a clock or a die may stand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from tools.tidy.tree import LOW_ROOMS, PACKAGE, ROOMS, Tree, calls, functions

FUNCTION_LINES_MAX: Final = 70
FILE_LINES_MAX: Final = 300

FILES: Final = ("__init__.py", "guide.md", "model.py", "plans.py", "routes.py", "statements.sql")
WITHOUT: Final = {
    **dict.fromkeys(LOW_ROOMS, ("guide.md", "routes.py")),  # no door: other rooms' guides tell of them
    "events": ("routes.py",),  # its door comes with subscriptions
    "commits": ("statements.sql",),  # it composes other rooms' statements
}

CLOCKS: Final = re.compile(
    r"(?:^|\.)(?:datetime\.(?:now|utcnow|today)|date\.today|uuid[14]|urandom)$"
    r"|^time\.(?:time|time_ns|localtime|gmtime|ctime)$|^random\.|^secrets\."
)
CLOCK_HOMES: Final = (
    f"{PACKAGE}/kit/ids.py",  # the one place: ids carry the time they were made
    *(f"{PACKAGE}/{entrance}/" for entrance in ("cli", "dashboard", "db", "mcp", "sdk", "server", "testing", "worker")),
    f"{PACKAGE}/envelopes/",  # sealing draws its keys and nonces on the client
    f"{PACKAGE}/telemetry/",  # it stamps what it writes; nothing is decided by it
)
SQL_CLOCKS: Final = re.compile(
    r"\b(?:(?:now|clock_timestamp|transaction_timestamp|statement_timestamp|gen_random_uuid|random)\s*\("
    r"|current_(?:timestamp|date|time)\b|localtimestamp\b)"
)


def short_functions(tree: Tree) -> Iterator[str]:
    """No function is longer than a page."""
    for path in tree.python():
        for node in functions(tree.syntax(path)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{path}:{node.lineno} {node.name} has {lines} lines, more than {FUNCTION_LINES_MAX}"


def short_files(tree: Tree) -> Iterator[str]:
    """No file is longer than a room can be; a longer one is a second room asking for a door."""
    for path in tree.paths:
        if path.endswith(".py"):
            lines = tree.text(path).count("\n")
            if lines > FILE_LINES_MAX:
                yield f"{path} has {lines} lines, more than {FILE_LINES_MAX}"


def room_files(tree: Tree) -> Iterator[str]:
    """Every room has the same files."""
    for name in (*ROOMS, *LOW_ROOMS):
        folder = f"{PACKAGE}/{name}"
        if tree.under(folder):
            for file in FILES:
                if f"{folder}/{file}" not in tree.paths and file not in WITHOUT.get(name, ()):
                    yield f"{folder} lacks {file}"


def no_clock(tree: Tree) -> Iterator[str]:
    """Python outside the entrances asks neither clock nor die: the database's clock decides, ids are passed in."""
    for path in tree.python(PACKAGE):
        if not path.startswith(CLOCK_HOMES):
            for name, call in calls(tree.syntax(path)):
                if CLOCKS.search(name):
                    yield f"{path}:{call.lineno} calls {name}"


def no_new_ids(tree: Tree) -> Iterator[str]:
    """A room makes no ids: whoever begins a plan passes them in, so that beginning it again makes the same."""
    for path in tree.python(*tree.rooms()) if tree.rooms() else ():
        for name, call in calls(tree.syntax(path)):
            if name.rpartition(".")[2] == "new_id" and not path.endswith("/loops.py"):
                yield f"{path}:{call.lineno} makes an id"


def no_sql_clock(tree: Tree) -> Iterator[str]:
    """SQL asks steadhold.clock(), which tests can move; only that function asks the real clock, once."""
    homes = 0
    for path in (p for p in tree.under(PACKAGE, ends=".sql") if not p.startswith(f"{PACKAGE}/testing/")):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            code = line.partition("--")[0].lower()
            if SQL_CLOCKS.search(code):
                defines = (
                    "/migrations/" in path
                    and "clock_timestamp()" in code
                    and "steadhold.clock()" in _before(tree.text(path), number)
                )
                homes += defines
                if not defines or homes > 1:
                    yield f"{path}:{number} asks the clock itself: {line.strip()}"


def _before(text: str, number: int) -> str:
    """The few lines up to a line, lower case."""
    return "\n".join(text.splitlines()[max(0, number - 4) : number]).lower()


def promised(tree: Tree) -> Iterator[str]:
    """Every public operation says in its docstring what it promises."""
    for path in tree.python(PACKAGE):
        for node in functions(tree.syntax(path)):
            marks = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
            if marks & {"operation", "single_operation"} and not ast.get_docstring(node):
                yield f"{path}:{node.lineno} the operation {node.name} has no docstring"
