"""What users meet (limits, codes, settings, metrics, events, states) stands in a guide."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from tools.tidy.tree import PACKAGE, Tree, assigned, calls, first_string, functions

LIMITS: Final = (f"{PACKAGE}/kit/limits.py", f"{PACKAGE}/kit/limits_of_rooms.py")
PROBLEMS: Final = f"{PACKAGE}/web"
SETTINGS: Final = f"{PACKAGE}/server"
METRICS: Final = ("Metric", "Counter", "Gauge", "Histogram", "Summary")
EVENT: Final = re.compile(r"[a-z]+(?:\.[a-z_]+)+")
SEPARATOR: Final = re.compile(r"\|[\s:|-]+\|")


def limits(tree: Tree) -> Iterator[str]:
    """Every limit is documented, by its name in capabilities."""
    for path in (path for path in LIMITS if path in tree.paths):
        module = tree.syntax(path)
        names = [name for name, _ in assigned(module) if not name.startswith("_") and name != "ALL"]
        yield from _undocumented(tree, "limit", [name.lower() for name in (*names, *_fields(module))])


def codes(tree: Tree) -> Iterator[str]:
    """Every problem code is documented."""
    yield from _undocumented(tree, "problem code", declared_codes(tree))


def known_codes(tree: Tree) -> Iterator[str]:
    """Every problem that a route answers is in the table."""
    table = set(declared_codes(tree))
    for path in tree.python(PACKAGE) if table else ():
        for name, call in calls(tree.syntax(path)):
            code = first_string(call) if name.rpartition(".")[2] == "Problem" else None
            if code is not None and code not in table:
                yield f"{path}:{call.lineno} the problem code {code} is not in PROBLEMS"


def declared_codes(tree: Tree) -> list[str]:
    """Codes of the table `PROBLEMS`: its keys, or the first argument of each of its entries."""
    return [
        code
        for path in tree.python(PROBLEMS)
        for name, value in assigned(tree.syntax(path))
        if name == "PROBLEMS"
        for code in (_keys(value) if isinstance(value, ast.Dict) else _firsts(value))
    ]


def _keys(table: ast.Dict) -> list[str]:
    return [k.value for k in table.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]


def _firsts(table: ast.expr) -> list[str]:
    return [code for _, call in calls(table) if (code := first_string(call))]


def settings(tree: Tree) -> Iterator[str]:
    """Every setting is documented, by its own name or by its variable's."""
    for name in (name for path in tree.python(SETTINGS) for name in _fields(tree.syntax(path), "Settings")):
        if not (tree.documented(name) or tree.documented(f"STEADHOLD_{name.upper()}")):
            yield f"setting {name} stands in no guide"


def metrics(tree: Tree) -> Iterator[str]:
    """Every metric is documented."""
    names = {
        first_string(call)
        for path in tree.python(PACKAGE)
        for name, call in calls(tree.syntax(path))
        if name.rpartition(".")[2] in METRICS
    }
    yield from _undocumented(tree, "metric", filter(None, names))


def events(tree: Tree) -> Iterator[str]:
    """Every event that a room appends is documented."""
    for path in tree.python(*tree.rooms()) if tree.rooms() else ():
        for name, call in calls(tree.syntax(path)):
            if name.split(".")[-2:] in (["append", "plan"], ["events", "append"]) or name == "append":
                strings = [n.value for n in ast.walk(call) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                yield from _undocumented(tree, "event", [s for s in strings if EVENT.fullmatch(s)])


def states(tree: Tree) -> Iterator[str]:
    """Every non-terminal state has a row in its room's guide, and the sweep of each row exists in code."""
    for folder in tree.rooms():
        table = list(_rows(tree.text(f"{folder}/guide.md")))
        for state in _moving(tree, f"{folder}/model.py"):
            if not any(re.search(rf"\b{state}\b", row[0]) for row in table):
                yield f"{folder}/guide.md has no row | state | waker | bound | sweep | for {state}"
        for row in table:
            if not all(row):
                yield f"{folder}/guide.md leaves a cell of {row[0] or 'a state'} empty"
            sweep = re.match(r"`?([a-z_]+)", row[3])
            if not sweep or sweep[1] not in _words(tree, folder):
                yield f"{folder}/guide.md: the sweep of {row[0]}, {row[3]!r}, begins with no name of its plans or loops"


def _rows(page: str) -> Iterator[list[str]]:
    """Rows of every table headed `| state | waker | bound | sweep |`."""
    inside = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.strip().startswith("|") else []
        if (
            cells
            and cells[0].lower() in ("state", "non-terminal")
            and [c.lower() for c in cells[1:]]
            == [
                *("waker", "bound", "sweep"),
            ]
        ):
            inside = True
        elif inside and len(cells) == 4 and not SEPARATOR.fullmatch(line.strip()):
            yield cells
        else:
            inside = inside and bool(cells)


def _moving(tree: Tree, path: str) -> set[str]:
    """States of the transition table `MOVES` that lead somewhere.

    The table reads `{state: {state, …}}` or `{(state, state): causes}`, wrapped in a call or not.
    """
    tables = (value for name, value in assigned(tree.syntax(path)) if name == "MOVES")
    outermost = (next((n for n in ast.walk(t) if isinstance(n, ast.Dict)), ast.Dict([], [])) for t in tables)
    return {_state(key) for d in outermost for key, to in zip(d.keys, d.values, strict=True) if key and _leads(to)}


def _state(key: ast.expr) -> str:
    if isinstance(key, ast.Tuple):
        return _state(key.elts[0])
    if isinstance(key, ast.Attribute):
        return key.attr.lower()
    return str(getattr(key, "value", getattr(key, "id", ""))).lower()


def _leads(to: ast.expr) -> bool:
    """Whether an expression names anything: `set()` and `()` do not."""
    named = (n for n in ast.walk(to) if isinstance(n, (ast.Constant, ast.Attribute, ast.Name)))
    return any(getattr(n, "id", None) not in ("set", "frozenset", "tuple") for n in named)


def _words(tree: Tree, folder: str) -> set[str]:
    """Names of functions, and strings, in a room's plans and loops."""
    found: set[str] = set()
    for path in (p for p in tree.python(folder) if p.endswith(("/plans.py", "/loops.py"))):
        module = tree.syntax(path)
        found |= {node.name for node in functions(module)}
        found |= {n.value for n in ast.walk(module) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return found


def _fields(module: ast.Module, named: str = "") -> list[str]:
    """Annotated fields of a module's classes whose names end so."""
    return [
        node.target.id
        for owner in module.body
        if isinstance(owner, ast.ClassDef) and owner.name.endswith(named)
        for node in owner.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_")
    ]


def _undocumented(tree: Tree, what: str, names: Iterable[str]) -> Iterator[str]:
    yield from (f"{what} {name} stands in no guide" for name in sorted(set(names)) if not tree.documented(name))
