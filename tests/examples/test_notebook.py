"""examples/notebook, run: as its page says, by two sessions at once, and unreadable without its keys."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from steadhold.envelopes import EnvelopeRefused, Keyring
from steadhold.sdk import Client
from tests.sdk.site import key, site  # noqa: F401 - fixtures

FOLDER = Path(__file__).parents[2] / "examples" / "notebook"
sys.path.append(str(FOLDER))
from notebook import Notebook, main  # noqa: E402 - it lies in the example's folder


@pytest.fixture
def client(site, key):  # noqa: F811
    with Client(site.url, key.key) as made:
        yield made


def test_it_runs_as_its_page_says(site, key, client, tmp_path):  # noqa: F811
    shutil.copy(FOLDER / "notebook.py", tmp_path)
    environ = {"STEADHOLD_URL": site.url, "STEADHOLD_API_KEY": key.key}
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ python notebook.py (.*)\n(?!\$)(.*)$", page, re.MULTILINE)
    assert len(shown) == 3
    for words, answer in shown:
        command = [sys.executable, "notebook.py", *re.findall(r'"[^"]*"|\S+', words)]
        command = [word.strip('"') for word in command]
        told = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
        assert told.stdout == f"{answer}\n"
    assert client.context.read("notebook/monday").body[:3] == b"eyJ"


def test_every_command_answers_a_sentence(client, site, key, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)
    assert main("view") == "The notebook is empty."
    main("create", "a", "one\ntwo")
    assert main("create", "a", "again").startswith("There is a note of this name")
    assert main("insert", "a", "1", "between") == "a is changed."
    assert main("view", "a") == "1\tone\n2\tbetween\n3\ttwo"
    assert main("replace", "a", "o", "0").endswith("say more of it.")
    assert main("rename", "a", "b") == "a is called b now."
    assert main("view", "a") == "There is no such note."
    assert main("view") == "b"
    assert main("delete", "b") == "b is gone."
    assert main("view") == "The notebook is empty."


def test_two_sessions_lose_nothing_of_each_other(client):
    keyring = Keyring.generate()
    notebook = Notebook(client, keyring)
    notebook.create("log", "begin")

    def write(number):
        notebook.insert("log", "1", f"line {number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert len(notebook.view("log").splitlines()) == 13
    with pytest.raises(EnvelopeRefused):
        Notebook(client, Keyring.generate()).view("log")
