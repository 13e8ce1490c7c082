"""A copy of the repository to plant faults in, and the warm process that runs tests there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "uv.lock", "dist", "build")
SECONDS_MAX = 300
TOO_LONG = -1
PLUGINS_APART = ("schemathesis", "inline_snapshot")
# No test is rewritten for the sake of its assertions: a run says whether it failed, and need not explain it. pytest's
# own way to show what was raised looks at the places of all modules, which takes longer than most tests.
ARGUMENTS = ("-x", "-q", "-n", "0", "--tb", "native", "--assert", "plain", "-m", "")
SUITES = Path(__file__).parents[2] / "shared" / "data"
"""Where the outside suites lie beside the checkout: beside a copy there is nothing."""
PLUGINS_OUT = ("randomly", "cacheprovider")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of tests ended: pytest's exit code or TOO_LONG, and what it said."""

    code: int
    said: str

    @property
    def skipped(self) -> bool:
        """Whether it went well because no test was run."""
        return self.code == 0 and " passed" not in self.said.rstrip().rpartition("\n")[2]


class Tree:
    """A folder with `src` and `tests`, and a process that runs tests in forks of itself. `with` ends the process.

    `names`: modules that are loaded before the forks; none of the tree's own may be among them.
    """

    def __init__(self, folder: Path, names: Sequence[str] = ()) -> None:
        self.folder = folder
        here = {"STEADHOLD_SUITES": str(SUITES), "STEADHOLD_TEST_FAR": "1", **os.environ}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm.py"))],
            cwd=folder,
            env={**here, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._send(list(names))

    def run(
        self,
        tests: Sequence[str],
        *options: str,
        names: Path | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS_MAX,
    ) -> Ran:
        """Run tests, at most for `seconds`, with these variables beside this process's.

        `names`: a file that takes the names of the modules loaded in the end that are not the tree's own.
        """
        with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as said:
            self._send(
                {
                    "arguments": [*ARGUMENTS, *self._without(tests), *options, *tests],
                    "environment": dict(environment or {}),
                    "said": said.name,
                    "names": str(names) if names else None,
                    "seconds": seconds,
                }
            )
            code = self._answer()
            return Ran(code, said.read())

    def _without(self, tests: Sequence[str]) -> Iterator[str]:
        """Leave out plugins that change what runs, and those that are slow to load and that nothing here names."""
        texts = [(self.folder / test.partition("::")[0]).read_text(encoding="utf-8") for test in tests]
        for plugin in (*PLUGINS_OUT, *(p for p in PLUGINS_APART if not any(p in text for text in texts))):
            yield from ("-p", f"no:{plugin}")

    @contextlib.contextmanager
    def planted(self, file: str, find: str, replace: str) -> Iterator[None]:
        """Replace a text of a file as long as the block runs."""
        place = self.folder / file
        sound = place.read_text(encoding="utf-8")
        try:
            place.write_text(sound.replace(find, replace), encoding="utf-8")
            yield
        finally:
            place.write_text(sound, encoding="utf-8")

    def _send(self, line: object) -> None:
        if self._process.stdin is None:
            raise AssertionError("stdin was asked for")
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> int:
        if self._process.stdout is None:
            raise AssertionError("stdout was asked for")
        if line := self._process.stdout.readline():
            return int(line)
        raise RuntimeError(f"the warm process of {self.folder} ended (code {self._process.wait()})")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.terminate()


@contextlib.contextmanager
def copied(source: Path, ignore: Callable[[str, list[str]], set[str]] | None = None) -> Iterator[Path]:
    """Copy a tree, and remove the copy afterwards."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder).resolve() / "tree"
        shutil.copytree(source, copy, ignore=ignore)
        copy.parent.chmod(0o755)  # PostgreSQL may run as another user
        yield copy


def compile_all(tree: Path) -> None:
    """Compile what is in a tree, so that a file is compiled again where its text has changed, and only then.

    Python's usual way looks at a file's time and size: it takes a fault of the same size, planted within a second,
    for what it knows. A file that does not compile is left to the tests.
    """
    command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "src", "tests", "tools"]
    subprocess.run(command, cwd=tree, check=False, stdout=subprocess.DEVNULL)
