"""Make .venv and fill it with exactly what requirements.lock names, from nothing but a Python.

`make setup` runs this with the system's Python, so it must parse under an old one to be able to say so.
"""

import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
OLDEST = (3, 11)
PROBE = "import sys; sys.exit(sys.version_info[:2] < (%d, %d))" % OLDEST


def stop(sentence):
    sys.stderr.write("make setup: " + sentence + "\n")
    sys.exit(1)


def works(*command):
    """Whether the command exists and succeeds; what it prints is dropped."""
    try:
        return subprocess.call(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


def find_uv():
    beside = os.path.join(VENV, "bin", "uv")
    return beside if os.path.exists(beside) else shutil.which("uv")


def make_venv(uv):
    """Make .venv unless a usable one stands there already."""
    if works(PYTHON, "-c", PROBE) and (uv or works(PYTHON, "-m", "pip", "--version")):
        return
    if os.path.exists(VENV):
        print("make setup: .venv does not work with this Python, making it anew")
    if uv:
        subprocess.check_call([uv, "venv", "--quiet", "--clear", "--python", sys.executable, VENV])
        return
    if not works(sys.executable, "-c", "import ensurepip, venv"):
        stop(
            "%s cannot make virtual environments because ensurepip is missing (Debian ships it apart): "
            "run `apt-get install python3-venv`, or choose another Python with `make PYTHON=/path/to/python3`."
            % sys.executable
        )
    subprocess.check_call([sys.executable, "-m", "venv", "--clear", VENV])


def install(uv):
    """Install the locked packages, each checked against its hash, then this project in place."""
    lock = os.path.join(ROOT, "requirements.lock")
    if uv:
        head = [uv, "pip", "install", "--quiet", "--python", PYTHON]
    else:
        head = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call(head + ["--require-hashes", "-r", lock])
    subprocess.check_call(head + ["--no-deps", "--no-build-isolation", "-e", ROOT])


def main():
    if sys.version_info[:2] < OLDEST:
        stop(
            "steadhold needs Python 3.11 or newer and %s is %d.%d: choose another with `make PYTHON=/path/to/python3`."
            % ((sys.executable,) + sys.version_info[:2])
        )
    uv = find_uv()
    make_venv(uv)
    try:
        install(uv)
    except subprocess.CalledProcessError as failed:
        stop("installing failed (exit %d); what is above says why, and running it again resumes." % failed.returncode)


if __name__ == "__main__":
    main()
