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
from notebook import answered, call_of, main  # noqa: E402 - it lies in the example's folder


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
    assert client.context.read("notebook/builds").body[:3] == b"eyJ"


def test_every_command_answers_what_the_model_is_told(client, site, key, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEADHOLD_URL", site.url)
    monkeypatch.setenv("STEADHOLD_API_KEY", key.key)
    assert main().endswith("\n0B\t/memories")
    main("create", "/memories/a", "one\ntwo")
    assert main("create", "/memories/a", "again") == "Error: File /memories/a already exists"
    assert main("insert", "/memories/a", "1", "between") == "The file /memories/a has been edited."
    assert main("view", "/memories/a", "1", "2").endswith(":\n     1\tone\n     2\tbetween")
    assert main("str_replace", "/memories/a", "o", "0").startswith("No replacement was performed. Multiple")
    assert main("rename", "/memories/a", "/memories/b").startswith("Successfully renamed")
    assert main("view", "/memories/a").startswith("The path /memories/a does not exist.")
    assert main("delete", "/memories/b") == "Successfully deleted /memories/b"
    assert main("view", "/memories").endswith("\n0B\t/memories")


def test_two_sessions_lose_nothing_of_each_other(client):
    keyring = Keyring.generate()
    answered(client, keyring, call_of("create", "/memories/log", "begin"))

    def write(number):
        answered(client, keyring, call_of("insert", "/memories/log", "1", f"line {number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    told = answered(client, keyring, call_of("view", "/memories/log"))
    assert len(told.splitlines()) == 1 + 9
    with pytest.raises(EnvelopeRefused):
        answered(client, Keyring.generate(), call_of("view", "/memories/log"))
