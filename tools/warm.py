"""Run pytest again and again, each time in a fork of a process that has loaded all that is not under test.

Run in a tree, as `python tools/warm.py`. The first line it reads names modules to load; each further line asks for
one run. What the tree itself holds is loaded in the forks only, so a fault planted between two runs is imported
by the second as it stands in its file.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

HERE = Path.cwd().resolve()
ELSEWHERE, TOO_LONG = 70, -1  # no exit codes of pytest's


def main() -> None:
    """Load the modules of the first line, then answer each line with the exit code of its run, or TOO_LONG."""
    for name in json.loads(sys.stdin.readline()):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if early := _ours():
        sys.exit(f"loaded before any fault was planted: {early}")
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(asked)
        print(_ended(child, asked["seconds"]), flush=True)


def _child(asked: dict[str, Any]) -> NoReturn:
    """One run, in a fork, which ends with its code. What was loaded is left as it is: taking it apart would copy it."""
    code = ELSEWHERE

    def end() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    atexit.register(end)  # what the run registers goes before
    code = _run(**asked)
    sys.exit(code)


def _run(*, arguments: list[str], environment: dict[str, str], said: str, names: str | None, seconds: float) -> int:
    """One run of pytest, in a fork; what it says goes into the file `said`."""
    del seconds
    os.setsid()
    for number, path in ((0, os.devnull), (1, said), (2, said)):
        os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), number)
    os.environ.update(environment)
    import pytest
    from hypothesis import Phase, settings

    # A run that fails has said all that is asked of it: nobody reads the smallest example.
    brief = [Phase.explicit, Phase.reuse, Phase.generate]
    settings.register_profile("brief", phases=brief, report_multiple_bugs=False, database=None)
    settings.load_profile("brief")
    code = int(pytest.main(arguments))
    if strange := [name for name, module in _modules() if _is_named_as_ours(name, module) and not _is_ours(module)]:
        print(f"not of this tree: {strange}")
        return ELSEWHERE
    if names:
        foreign = [name for name, module in _modules() if getattr(module, "__spec__", None) and not _is_ours(module)]
        Path(names).write_text(json.dumps(foreign), encoding="utf-8")
    return code


def _ended(child: int, seconds: float) -> int:
    """The exit code of a fork; it and what it started are killed after `seconds`, or when this process is to end."""
    kinds = (signal.SIGALRM, signal.SIGTERM)
    for kind in kinds:
        signal.signal(kind, lambda *_: os.killpg(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.setitimer(signal.ITIMER_REAL, 0)
    for kind in kinds:
        signal.signal(kind, signal.SIG_DFL)
    return TOO_LONG if code == -signal.SIGKILL else code


def _modules() -> list[tuple[str, ModuleType]]:
    """All modules in the order they were asked for, which some depend on: `_asyncio` first breaks asyncio."""
    return [(name, module) for name, module in sys.modules.items() if name != "__main__"]


def _ours() -> list[str]:
    return [name for name, module in _modules() if _is_ours(module) or _is_named_as_ours(name, module)]


def _is_ours(module: ModuleType) -> bool:
    """Whether it comes from this tree."""
    return any(HERE in Path(place).resolve().parents for place in _places(module))


def _is_named_as_ours(name: str, module: ModuleType) -> bool:
    """Whether it has a name that belongs to this tree, wherever it comes from."""
    return name.partition(".")[0] in {"steadhold", "tests", "tools"} and bool(_places(module))


def _places(module: Any) -> list[str]:
    """Files and folders that a module comes from; none if it is built in."""
    file = getattr(module, "__file__", None)
    return [file] if file else list(getattr(module, "__path__", []))


if __name__ == "__main__":
    sys.path.pop(0)  # this file's own folder
    main()
