"""`laws.toml`: which test holds which law, and the fault that must turn it red."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REGISTER = ROOT / "laws.toml"
KEYS = {"id", "source", "says", "test", "fault"}
SENTENCES = "seeds"


@dataclass(frozen=True, slots=True)
class Law:
    """One law, the test that holds it and the fault that test must see."""

    id: str
    source: str
    says: str
    test: str
    file: str
    find: str
    replace: str
    seeds: tuple[str, ...] = ()

    @property
    def test_file(self) -> str:
        """Path of the file that the test is in."""
        return self.test.partition("::")[0]

    @property
    def test_names(self) -> list[str]:
        """Names that lead to the test inside its file, without parameters."""
        return self.test.partition("[")[0].split("::")[1:]


def read(path: Path = REGISTER) -> list[Law]:
    """Read the register; a KeyError or ValueError says what is wrong with an entry."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("law", [])
    laws = [_law(entry) for entry in entries]
    twice = {law.id for law in laws if [other.id for other in laws].count(law.id) > 1}
    if twice:
        raise ValueError(f"laws.toml names {sorted(twice)} more than once")
    return laws


def _law(entry: dict[str, Any]) -> Law:
    if entry.keys() - {SENTENCES} != KEYS:
        raise ValueError(f"laws.toml: {entry.get('id', entry)} must have exactly {sorted(KEYS)}")
    fault = entry["fault"]
    return Law(
        entry["id"], entry["source"], entry["says"], entry["test"], fault["file"], fault["find"], fault["replace"],
        tuple(entry.get(SENTENCES, ())),
    )  # fmt: skip


def faults(law: Law, root: Path = ROOT) -> list[str]:
    """What is wrong with an entry: its test or its place does not exist, or the fault changes nothing."""
    found: list[str] = []
    if not (root / law.test_file).is_file() or not _defines(root / law.test_file, law.test_names):
        found.append(f"{law.id}: there is no test {law.test}")
    text = (root / law.file).read_text(encoding="utf-8") if (root / law.file).is_file() else ""
    if (count := text.count(law.find)) != 1:
        found.append(f"{law.id}: {law.file} holds the text to replace {count} times, not once")
    if law.find == law.replace:
        found.append(f"{law.id}: the fault changes nothing")
    return found


def _defines(path: Path, names: list[str]) -> bool:
    """Whether a file defines a function, or a class and a function in it, of these names."""
    owner: ast.AST | None = ast.parse(path.read_text(encoding="utf-8"))
    for name in names:
        owner = next((n for n in getattr(owner, "body", []) if getattr(n, "name", None) == name), None) or _assigned(
            owner, name
        )
    return owner is not None and bool(names)


def _assigned(owner: ast.AST | None, name: str) -> ast.AST | None:
    """A state machine's test is assigned, not defined: `TestJobs = Jobs.TestCase`; what is in it is hypothesis' own."""
    if isinstance(owner, ast.Assign):
        return owner if name == "runTest" else None
    for node in getattr(owner, "body", []):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node
    return None
