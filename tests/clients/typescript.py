"""The folder of the TypeScript client with the packages that it names, to be compiled and run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.suites import npm
from tools.write_typescript import FOLDER, packages


class Folder:
    """A copy of the client that may be changed."""

    def __init__(self, path: Path, modules: Path) -> None:
        self.path = path
        shutil.copytree(FOLDER, path, ignore=shutil.ignore_patterns("node_modules", "dist"))
        (path / "node_modules").symlink_to(modules)

    def copied(self, file, to):
        """A copy of one of its files, which may be changed."""
        return Text(Path(shutil.copy(self.path / file, self.path / to)))

    def compile(self, *options):
        """What the compiler says under `--strict`."""
        return self.run("node_modules/typescript/bin/tsc", "--project", ".", "--strict", *options)

    def run(self, program, *words, **environment):
        """Run a program of JavaScript."""
        command = (npm.node(), program, *words)
        return subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )


class Text:
    """A file that may be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def change(self, find, replace):
        """Put a text in the place of another, which must be there."""
        text = self.path.read_text(encoding="utf-8")
        assert find in text
        self.path.write_text(text.replace(find, replace), encoding="utf-8")


def modules_of(config):
    """The folder of the packages."""
    return npm.modules(config, "typescript", *packages())
