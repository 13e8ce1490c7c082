"""Words that the repository does not use, and what its pages and tests look like."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from tools.tidy.tree import Function, Tree, calls, dotted, functions

TEXT: Final = (
    ".py",
    ".md",
    ".sql",
    ".toml",
    ".yml",
    ".yaml",
    ".json",
    ".html",
    ".css",
    ".js",
    ".lock",
    ".sh",
    "/run",
    "Makefile",
)
VAGUE: Final = re.compile(r"(?:Manager|Helper|Utils?|Service|Repository|Impl)s?$")
VAGUE_FILE: Final = re.compile(r"(?:^|/)_?(?:utils?|helpers?|common|misc|managers?|services?)\.py$")
PROSE: Final = re.compile(
    r"\b(?:seamless(?:ly)?|effortless(?:ly)?|blazing(?:ly)?|world-class|cutting-edge|leverages?|utili[sz]es?|robust)\b",
    re.IGNORECASE,
)
# In pieces, so that this file does not breach itself.
LEFT: Final = re.compile("TO" + "DO|FIX" + r"ME|\bXX" + r"X\b|type" + ": ignore|# no" + r"qa(?!:)")
HERE: Final = re.compile(r"(?<![\w.])/(?:work|farm|Users|home/\w+)" + r"/|/root" + r"/\.|/tmp" + "/bash_")
HOSTS: Final = re.compile(r"\b(?:pypi|pythonhosted|npmjs|debian|golang|crates)" + r"\.(?:org|com|io)\b")
SILENT: Final = ("pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail", "pytest.skip", "pytest.xfail")
PROVES: Final = re.compile(r"\bassert\b|raises|warns|explore|run_state_machine|check_|expect|verify|must_|snapshot")


def vague_names(tree: Tree) -> Iterator[str]:
    """A class or file is named after its one duty, not after being useful."""
    for path in tree.python():
        if VAGUE_FILE.search(path):
            yield f"{path} is named after nothing"
        for node in ast.walk(tree.syntax(path)):
            if isinstance(node, ast.ClassDef) and VAGUE.search(node.name):
                yield f"{path}:{node.lineno} {node.name} is named after nothing"


def plain_prose(tree: Tree) -> Iterator[str]:
    """Pages promise what is tested and praise nothing."""
    yield from _lines(tree, PROSE, (".md",), "says")


def nothing_left(tree: Tree) -> Iterator[str]:
    """Nothing is left for later, and no check is silenced without its code."""
    yield from _lines(tree, LEFT, (".py", ".sql"), "leaves")


def no_machine(tree: Tree) -> Iterator[str]:
    """No file names a path of the machine it was written on."""
    yield from _lines(tree, HERE, TEXT, "names the path")


def no_hosts(tree: Tree) -> Iterator[str]:
    """No file names a package host: where packages come from is the machine's own setting."""
    yield from _lines(tree, HOSTS, TEXT, "names the host")


def _lines(tree: Tree, pattern: re.Pattern[str], ends: tuple[str, ...], verb: str) -> Iterator[str]:
    for path in tree.paths:
        if path.endswith(ends):
            for number, line in enumerate(tree.text(path).splitlines(), 1):
                if match := pattern.search(line):
                    yield f"{path}:{number} {verb} {match[0]}"


def one_title(tree: Tree) -> Iterator[str]:
    """Every page has one title."""
    for path in tree.paths:
        if path.endswith(".md"):
            prose = re.sub(r"^(```|~~~).*?^\1", "", tree.text(path), flags=re.MULTILINE | re.DOTALL)
            titles = len(re.findall(r"^# ", prose, re.MULTILINE))
            if titles != 1:
                yield f"{path} has {titles} titles"


def tests_prove(tree: Tree) -> Iterator[str]:
    """Every test can fail."""
    for path, test in _tests(tree):
        if not PROVES.search(ast.get_source_segment(tree.text(path), test) or ""):
            yield f"{path}:{test.lineno} {test.name} asserts nothing"


def tests_wait(tree: Tree) -> Iterator[str]:
    """No test sleeps: it waits for a moment, not for milliseconds."""
    for path in tree.python("tests"):
        for name, call in calls(tree.syntax(path)):
            if name in ("time.sleep", "asyncio.sleep", "anyio.sleep") and not _zero(call):
                yield f"{path}:{call.lineno} sleeps"


def tests_run(tree: Tree) -> Iterator[str]:
    """No test is skipped or expected to fail; only an outside suite may be, where its data is absent."""
    for path in tree.python("tests"):
        for node in ast.walk(tree.syntax(path)):
            if isinstance(node, ast.Attribute) and dotted(node) in SILENT and not path.startswith("tests/suites/"):
                yield f"{path}:{node.lineno} uses {dotted(node)}"


def _tests(tree: Tree) -> Iterator[tuple[str, Function]]:
    for path in tree.python("tests"):
        if path.rpartition("/")[2].startswith("test_"):
            yield from ((path, node) for node in functions(tree.syntax(path)) if node.name.startswith("test_"))


def _zero(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
