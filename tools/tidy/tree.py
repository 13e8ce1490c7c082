"""The files that the checks read: a tree is a folder, so a test can plant a small one."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

APART: Final = frozenset({"__pycache__", "node_modules", "build", "dist", "vendor", "uv.lock"})
PACKAGE: Final = "src/steadhold"
ROOMS: Final = (
    *("operations", "access", "state", "context", "locks", "jobs", "effects", "events"),
    *("inboxes", "approvals", "schedules", "webhooks", "commits"),
)
LOW_ROOMS: Final = ("fences", "blobs", "private")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Tree:
    """A folder of sources; paths are relative to it, with forward slashes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @functools.cached_property
    def paths(self) -> tuple[str, ...]:
        """Every file, without what tools leave behind."""
        return tuple(sorted(self._walk(self.root)))

    def _walk(self, folder: Path) -> Iterator[str]:
        for path in folder.iterdir():
            if path.name in APART or (path.name.startswith(".") and path.name not in (".ci", ".gitignore")):
                continue
            if path.is_dir():
                yield from self._walk(path)
            else:
                yield path.relative_to(self.root).as_posix()

    def under(self, *folders: str, ends: str | tuple[str, ...] = "") -> list[str]:
        """Files below the given folders whose names end so."""
        return [p for p in self.paths if p.startswith(tuple(f"{f}/" for f in folders)) and p.endswith(ends)]

    @functools.cache  # noqa: B019  a tree lives as long as its checks
    def text(self, path: str) -> str:
        """Content of a file, or the empty string where it is none, or not text."""
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError):
            return ""

    @functools.cache  # noqa: B019  as above
    def syntax(self, path: str) -> ast.Module:
        """Syntax tree of a Python file."""
        return ast.parse(self.text(path))

    def python(self, *folders: str) -> list[str]:
        """Python files below the given folders, or in the whole tree."""
        return self.under(*folders, ends=".py") if folders else [p for p in self.paths if p.endswith(".py")]

    def rooms(self, names: Iterable[str] = (*ROOMS, *LOW_ROOMS)) -> list[str]:
        """Folders of the rooms that exist."""
        return [f"{PACKAGE}/{name}" for name in names if self.under(f"{PACKAGE}/{name}")]

    @functools.cached_property
    def guides(self) -> str:
        """What users can read: every guide and every page of docs, in one text."""
        pages = [p for p in self.under(PACKAGE) if p.endswith("/guide.md")] + self.under("docs", ends=".md")
        return "\n".join(self.text(p) for p in pages)

    def documented(self, word: str) -> bool:
        """Whether some guide or page names the word, as a whole word."""
        return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w])", self.guides) is not None


def functions(module: ast.AST) -> Iterator[Function]:
    """Every function and method, nested ones included."""
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def calls(module: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Every call with its dotted name; a call of anything but a name has the empty one."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            yield dotted(node.func), node


def dotted(node: ast.AST) -> str:
    """Dotted name of an expression such as `a.b.c`, or the empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := dotted(node.value)):
        return f"{base}.{node.attr}"
    return ""


def first_string(call: ast.Call) -> str | None:
    """First argument of a call where it is a string."""
    if call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
        return call.args[0].value
    return None


def assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names given a value at the top of a module, with the value."""
    for node in module.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value
        elif isinstance(node, ast.Assign):
            yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
