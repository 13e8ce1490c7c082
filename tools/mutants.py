"""Plant each fault of laws.toml in a copy of the tree and run its test there: it must turn red.

A law whose test stays green under its fault is held by nothing, and this fails. `--only ID` chooses
laws, `--changed` those whose fault or test is in a file that differs from HEAD (or from `--base`).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.laws import ROOT, Law, faults, read

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "uv.lock", "dist", "build")
FAILED = 1  # pytest's own exit codes
SECONDS_MAX = 300
PLUGINS_APART = ("schemathesis", "inline_snapshot")


def main() -> int:
    """Run the chosen laws and print a table; 0 if every one turned red."""
    asked = _arguments()
    laws = _chosen(read(), asked)
    for sentence in (wrong := [sentence for law in laws for sentence in faults(law)]):
        print(sentence)
    if wrong:
        return 1
    with contextlib.ExitStack() as stack:
        stack.enter_context(_database(laws))
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for _ in range(min(asked.jobs, len(laws))):
            copies.put(stack.enter_context(_copy()))
        if laws and not _sound(copies, laws):
            return 1
        with ThreadPoolExecutor(asked.jobs) as pool:
            verdicts = list(pool.map(lambda law: _judged(copies, law), laws))
    alive = [law.id for law, verdict in zip(laws, verdicts, strict=True) if verdict != "red"]
    print(f"{len(laws) - len(alive)} of {len(laws)} laws turn red under their fault")
    for law_id in alive:
        print(f"  not seen: {law_id}")
    return 1 if alive else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="only this law (repeat for more)")
    parser.add_argument("--changed", action="store_true", help="only laws whose fault or test file changed")
    parser.add_argument("--base", default="HEAD", help="what --changed compares with")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    return parser.parse_args()


def _chosen(laws: list[Law], asked: argparse.Namespace) -> list[Law]:
    if unknown := set(asked.only) - {law.id for law in laws}:
        sys.exit(f"laws.toml has no law {', '.join(sorted(unknown))}")
    if asked.only:
        laws = [law for law in laws if law.id in asked.only]
    if asked.changed:
        changed = _git("diff", "--name-only", asked.base) | _git("ls-files", "--others", "--exclude-standard")
        laws = [law for law in laws if {law.file, law.test_file} & changed]
    return laws


def _git(*words: str) -> set[str]:
    return set(subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"))


@contextlib.contextmanager
def _database(laws: Sequence[Law]) -> Iterator[None]:
    """One PostgreSQL for all runs, if a test may need one; each run makes databases of its own in it."""
    if "STEADHOLD_TEST_DSN" in os.environ or all(law.test_file.count("/") == 1 for law in laws):
        yield
        return
    from steadhold.db.embedded import Embedded

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        Path(folder).chmod(0o755)  # it may run as another user
        with Embedded(Path(folder) / "data", throwaway=True) as server:
            os.environ["STEADHOLD_TEST_DSN"] = server.dsn
            yield


@contextlib.contextmanager
def _copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder).resolve() / "tree"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        copy.parent.chmod(0o755)  # as above
        yield copy


def _pytest(copy: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider"]
    for plugin in PLUGINS_APART:  # each costs a second to load, which every law would pay
        if not any(plugin in (copy / test.partition("::")[0]).read_text(encoding="utf-8") for test in tests):
            command += ["-p", f"no:{plugin}"]
    command += ["-m", "", *tests]
    return subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS_MAX
    )


def _sound(copies: queue.SimpleQueue[Path], laws: Sequence[Law]) -> bool:
    """Without a fault every test is green, and it is the copy that is tested."""
    copy = copies.get()
    where = "import steadhold, sys; sys.exit(not steadhold.__file__.startswith(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    subprocess.run([sys.executable, "-c", where, str(copy)], env=environment, check=True)
    ran = _pytest(copy, sorted({law.test for law in laws}))
    copies.put(copy)
    if ran.returncode:
        print(ran.stdout[-4000:], ran.stderr[-2000:], "a law's test fails without any fault", sep="\n")
    return not ran.returncode


def _judged(copies: queue.SimpleQueue[Path], law: Law) -> str:
    """Plant the fault, run the test, take the fault back: `red`, `green`, `slow` or `broken`."""
    copy = copies.get()
    place = copy / law.file
    sound = place.read_text(encoding="utf-8")
    began = time.monotonic()
    try:
        place.write_text(sound.replace(law.find, law.replace), encoding="utf-8")
        ran = _pytest(copy, [law.test])
        verdict = {0: "green", FAILED: "red"}.get(ran.returncode, "broken")
    except subprocess.TimeoutExpired:
        verdict = "slow"
    finally:
        place.write_text(sound, encoding="utf-8")
        copies.put(copy)
    print(f"{verdict:7} {time.monotonic() - began:5.1f} s  {law.id:40} {law.source}", flush=True)
    if verdict == "broken":
        print(ran.stdout[-1500:], ran.stderr[-500:], sep="\n")
    return verdict


if __name__ == "__main__":
    sys.exit(main())
