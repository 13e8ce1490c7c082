"""The lock holds what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.tidy.tree import Tree

LOCK: Final = "requirements.lock"
PIN: Final = re.compile(r"^([\w.-]+)==([^ ;\\]+)", re.MULTILINE)


def locked(tree: Tree) -> Iterator[str]:
    """Everything that a contributor needs is pinned, to a version that its range allows."""
    pins = {canonicalize_name(name): version for name, version in PIN.findall(tree.text(LOCK))}
    for wanted in _wanted(tomllib.loads(tree.text("pyproject.toml"))):
        version = pins.get(canonicalize_name(wanted.name))
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            yield f"{LOCK} has {wanted.name} {version or 'not at all'}, wanted is {wanted}: make lock"


def _wanted(project: dict[str, Any]) -> Iterator[Requirement]:
    """Requirements of the project and of those who work on it, the project's own extras opened."""
    own = project.get("project", {})
    extras = own.get("optional-dependencies", {})
    ahead = [*own.get("dependencies", ()), *project.get("dependency-groups", {}).get("dev", ())]
    while ahead:
        wanted = Requirement(ahead.pop())
        if wanted.name == own.get("name"):
            ahead += [line for extra in wanted.extras for line in extras[extra]]
        else:
            yield wanted
