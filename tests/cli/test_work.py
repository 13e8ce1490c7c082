"""`steadhold work`: a worker is found, and told where its jobs are."""

from __future__ import annotations

import sys

import pytest

MODULE = """
class Worker:
    def __init__(self):
        self.told = None
    def use(self, **given):
        self.told = given
    def run(self):
        print(self.told)

worker = Worker()
inner = type("Inner", (), {"worker": worker})
text = "no worker"

class Idle(Worker):
    def run(self):
        raise ValueError("This worker has no handlers.")

idle = Idle()

from steadhold.worker import Worker as Real

keyless = Real()
keyless.job("t")(print)

from steadhold.sdk.errors import NoValidKey, Said
from steadhold.worker.door import DoorRefused

class Refused(Worker):
    def run(self):
        raise DoorRefused("401") from NoValidKey(Said(401, "no_valid_key", detail="Why."))

refused = Refused()

from steadhold.worker.door import DoorShut

class Shut(Worker):
    def __init__(self, said, cause=None):
        self.said, self.cause = said, cause
    def run(self):
        if self.said is not None:
            self.said.__cause__ = self.cause
        raise DoorShut("Name: Why.") from self.said

from steadhold.db.errors import HouseError
from steadhold.play.single import Unavailable

behind = Shut(HouseError("Run: steadhold migrate"))
away = Shut(Unavailable("2"), FileNotFoundError(2, "No such file"))
broken = Shut(Unavailable("broken"))
silent = Shut(None)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a module in it, which is the current one."""
    (tmp_path / "my_tasks.py").write_text(MODULE)
    (tmp_path / "empty_tasks.py").write_text("")
    (tmp_path / "broken_tasks.py").write_text("import not_installed_anywhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("my_tasks", None)
    sys.modules.pop("empty_tasks", None)


@pytest.mark.parametrize("place", ["my_tasks:worker", "my_tasks:inner.worker"])
def test_a_worker_is_found_here_and_run(steadhold, place):
    assert steadhold("work", place).stdout == "None\n"


@pytest.mark.parametrize(
    "words, told",
    [
        ("--url http://h:1 --concurrency 3", {"url": "http://h:1", "concurrency": 3}),
        ("--database-url postgresql:///d --workspace w", {"workspace": "w", "dsn": "postgresql:///d"}),
        (
            "--database-url postgresql:///d --workspace w --prepared-statements 0",
            {"workspace": "w", "prepared_statements": 0, "dsn": "postgresql:///d"},
        ),
        ("--name n", {"name": "n"}),
    ],
)
def test_it_is_told_where_its_jobs_are(steadhold, words, told):
    assert steadhold("work", "my_tasks:worker", *words.split()).stdout == f"{told}\n"


def test_a_database_url_may_stand_in_the_environment(steadhold):
    said = steadhold("work", "my_tasks:worker", "--workspace", "w", STEADHOLD_DATABASE_URL="postgresql:///d").stdout
    assert said == "{'workspace': 'w', 'dsn': 'postgresql:///d'}\n"


def test_a_key_is_read_from_a_file(steadhold, here):
    (here / "key").write_text("sh_key\n")
    assert steadhold("work", "my_tasks:worker", "--api-key-file", "key").stdout == "{'api_key': 'sh_key'}\n"
    (here / "key").write_bytes(b"\xff")
    assert "no text" in steadhold("work", "my_tasks:worker", "--api-key-file", "key", code=2).stderr


@pytest.mark.parametrize(
    "words, code, said",
    [
        ("my_tasks", 2, "write MODULE:WORKER"),
        ("my_tasks:", 2, "write MODULE:WORKER"),
        ("elsewhere:worker", 2, "There is no module elsewhere here"),
        ("my_tasks.deeper:worker", 2, "There is no module my_tasks.deeper here"),
        ("my_tasks.py:worker", 2, "`steadhold work my_tasks:worker`"),
        ("./jobs/my_tasks.py:worker", 2, "`steadhold work jobs.my_tasks:worker`, run in the folder where jobs lies"),
        ("jobs/my_tasks", 2, "as in jobs.my_tasks:worker"),
        (
            "my_tasks:wrker",
            2,
            "It has worker, idle, keyless, refused, behind, away, broken, silent: `steadhold work my_tasks:worker`.",
        ),
        ("empty_tasks:worker", 2, "There is none in it: write `worker = Worker()` in empty_tasks"),
        ("my_tasks:text", 2, "my_tasks has no worker called text"),
        ("my_tasks:none", 2, "my_tasks has no worker called none"),
        ("broken_tasks:worker", 1, "broken_tasks needs not_installed_anywhere"),
        ("my_tasks:worker --url http://h --database-url postgresql:///d", 2, "not both"),
        ("my_tasks:idle", 2, "has no handlers"),
        ("my_tasks:keyless", 2, "Set STEADHOLD_API_KEY, or name a file with --api-key-file"),
        ("my_tasks:refused", 7, "Why. [no_valid_key]"),
        ("my_tasks:behind", 1, "Error: Run: steadhold migrate"),
        ("my_tasks:away", 6, "The database cannot be reached: No such file."),
        ("my_tasks:broken", 6, "Error: broken\nNext: Nothing was changed"),
        ("my_tasks:silent", 6, "Error: Name: Why."),
        ("my_tasks:worker --database-url postgresql:///d", 2, "--workspace NAME"),
        ("my_tasks:worker --prepared-statements 1e1", 2, "plain digits"),
        ("my_tasks:keyless --prepared-statements 0", 2, "say dsn= and workspace="),
    ],
)
def test_what_is_wrong_is_told(steadhold, words, code, said):
    assert said in steadhold("work", *words.split(), code=code).stderr
