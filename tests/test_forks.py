"""A process that begins as a fork is like one that was started anew."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.forks import begin

LOAD = ("steadhold.kit.failpoints",)
TELLS = """
import os, signal, sys
print(sys.argv[1:], os.getcwd(), os.environ.get("WORD"), len(os.environ), os.getppid(), __name__, sys.stdin.read())
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, sys.stdout.encoding)
print(sorted(int(n) for n in os.listdir("/proc/self/fd") if int(n) > 2 and os.path.exists(f"/proc/self/fd/{n}")))
"""


def said(words, **how):
    with begin(words, load=LOAD, stdout=subprocess.PIPE, **how) as process:
        return process.stdout.read(), process.wait(30)


def test_it_says_what_a_new_one_says(tmp_path):
    words = ["-c", TELLS, "a", "ä"]
    how = {"cwd": tmp_path, "env": {"WORD": "x", "LC_ALL": "C.UTF-8"}}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fds = [listener.fileno()]
        anew = subprocess.run([sys.executable, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True, pass_fds=fds, **how)  # fmt: skip
        assert said(words, pass_fds=fds, **how) == (anew.stdout, 0)


@pytest.mark.parametrize(
    "code, status",
    [("import sys; sys.exit(3)", 3), ("raise OSError", 1), ("import os; os.kill(os.getpid(), 9)", -9),
     ("import os; os.kill(os.getpid(), 2)", -2), ("import atexit; atexit.register(print, 1)", 0)],
)  # fmt: skip
def test_it_ends_as_a_new_one_ends(code, status, capfd):
    told = said(["-c", code])
    anew = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    assert told == (anew.stdout, status) == (anew.stdout, anew.returncode)
    complaints = [line for line in capfd.readouterr().err.splitlines() if "Error" in line or "Interrupt" in line]
    assert complaints[::2] == complaints[1::2]


def test_modules_and_files_run_too(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("import sys, beside; print(sys.argv, __name__, beside.WORD)")
    (tmp_path / "beside.py").write_text("WORD = 'w'")
    assert said([file, "a"]) == (f"{[str(file), 'a']} __main__ w\n", 0)
    assert said(["-m", "program", "a"], cwd=tmp_path) == (f"{[str(file), 'a']} __main__ w\n", 0)


def test_it_stops_and_goes_on_and_its_end_is_waited_for():
    with begin(["-c", "import signal; signal.pause()"], load=LOAD) as process:
        process.send_signal(signal.SIGSTOP)
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.kill()
        assert (process.wait(30), process.poll(), process.returncode) == (-9, -9, -9)
        process.kill()


def test_its_failpoints_are_its_own():
    code = "from steadhold.kit import failpoints; failpoints.hit('a')"
    assert said(["-c", code], env={**os.environ, "STEADHOLD_FAILPOINTS": "a=kill"}) == ("", -9)
    assert said(["-c", code]) == ("", 0)
