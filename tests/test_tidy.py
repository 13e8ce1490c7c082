"""The tree is tidy, and each check of it can fail: a breach is planted for every one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.tidy import CHECKS
from tools.tidy.tree import Tree

ROOT = Path(__file__).parents[1]
HOUSE = Tree(ROOT)

GUIDE = "src/steadhold/jobs/guide.md"
MODEL = "src/steadhold/jobs/model.py"
PLANS = "src/steadhold/jobs/plans.py"
SQL = "src/steadhold/jobs/statements.sql"
HOUSE_SQL = "src/steadhold/db/migrations/0001_house.sql"
MOVES = 'MOVES = {"waiting": {"ended"}, "ended": set()}\n'
TABLE = (
    "# Jobs\n\n| state | waker | bound | sweep |\n|---|---|---|---|\n| waiting | a signal | until | waits: ended |\n"
)
TABLE_SQL = 'create table steadhold.t (\n  workspace text collate "C" not null,\n  primary key (workspace, id)\n);\n'
WANTED = {
    "pyproject.toml": """
        project = { name = "a", dependencies = ["click>=8"], optional-dependencies = { server = ["asyncpg"] } }
        dependency-groups = { dev = ["a[server]"] }
    """
}
SWEEP = "def waits():\n    yield\n"
LIMITS = {"src/steadhold/kit/limits.py": "NAME_BYTES_MAX: Final = 512\n"}
PROBLEM = {"src/steadhold/web/problem.py": 'PROBLEMS = {"too_big": Kind(413)}\n'}
SETTINGS = {"src/steadhold/server/settings.py": "class Settings(Struct):\n    port: int = 7\n"}
METRIC = {"src/steadhold/telemetry/metrics.py": 'SEEN = Counter("steadhold_seen", "…")\n'}
EVENT = {"src/steadhold/jobs/plans.py": 'def f():\n    yield from events.append("job.ended", 1)\n'}
ROOM = {f"src/steadhold/jobs/{name}": "" for name in ("__init__.py", "guide.md", "model.py", "plans.py", "routes.py")}

# name of the check: (files that break it, files that do not)
PLANTS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "short_functions": (
        {"src/a.py": "def f():\n" + "    x = 1\n" * 70},
        {"src/a.py": "def f():\n" + "    x = 1\n" * 69},
    ),
    "short_files": (
        {"src/a.py": "x = 1\n" * 301},
        {"src/a.py": "x = 1\n" * 300},
    ),
    "room_files": (ROOM, {**ROOM, SQL: ""}),
    "promised": (
        {PLANS: "@operation\ndef put(workspace):\n    yield\n"},
        {PLANS: '@operation\ndef put(workspace):\n    """Put."""\n    yield\n'},
    ),
    "no_clock": (
        {PLANS: "import datetime\nx = datetime.datetime.now(datetime.UTC)\n"},
        {"src/steadhold/kit/ids.py": "import time\nx = time.time_ns()\n"},
    ),
    "no_new_ids": (
        {PLANS: "x = ids.new_id()\n"},
        {"src/steadhold/jobs/loops.py": "x = new_id()\n", PLANS: "def put(workspace, new_id): ...\n"},
    ),
    "no_sql_clock": (
        {SQL: "-- name: a\nselect now()\n"},
        {HOUSE_SQL: "create function steadhold.clock() as\n'select clock_timestamp()'"},
    ),
    "sql_names": (
        {SQL: "-- name: a\nselect 1\n", PLANS: ""},
        {SQL: "-- name: a\nselect 1\n", PLANS: "x = SQL.a\n"},
    ),
    "short_statements": (
        {SQL: "-- name: a\n" + "select 1,\n" * 91},
        {SQL: ("-- name: a\n" + "select 1,\n" * 90) + ("-- name: b\n" + "select 1,\n" * 90)},
    ),
    "cast": ({SQL: "-- name: a\nselect :id\n"}, {SQL: "-- name: a\nselect :id::uuid, ':x', b::text -- :y\n"}),
    "confined": (
        {SQL: "-- name: a\nselect 1\n"},
        {SQL: "-- name: a\nselect :workspace::text\n-- name: b\n-- all workspaces: one query a tick\nselect 1\n"},
    ),
    "led_by_workspace": (
        {HOUSE_SQL: TABLE_SQL.replace("(workspace, id)", "(id, workspace)")},
        {HOUSE_SQL: TABLE_SQL + "create index a on steadhold.t (workspace, at) where at is not null;\n"},
    ),
    "enclosed": ({HOUSE_SQL: TABLE_SQL}, {HOUSE_SQL: TABLE_SQL + "select steadhold.enclose('steadhold.t');\n"}),
    "limits": (LIMITS, {**LIMITS, GUIDE: "# Jobs\n\nA name has at most `name_bytes_max` bytes.\n"}),
    "codes": (PROBLEM, {**PROBLEM, "docs/errors.md": "# Errors\n\n`too_big`\n"}),
    "known_codes": (
        {**PROBLEM, PLANS: 'x = Problem("too_small", "…")\n'},
        {**PROBLEM, PLANS: 'x = Problem("too_big", "…")\n'},
    ),
    "settings": (SETTINGS, {**SETTINGS, "docs/operate.md": "# Operate\n\n`STEADHOLD_PORT`\n"}),
    "metrics": (METRIC, {**METRIC, "docs/operate.md": "# Operate\n\n`steadhold_seen`\n"}),
    "events": (EVENT, {**EVENT, GUIDE: "# Jobs\n\n`job.ended`\n"}),
    "states": ({MODEL: MOVES, GUIDE: "# Jobs\n"}, {MODEL: MOVES, GUIDE: TABLE, PLANS: SWEEP}),
    "vague_names": ({"src/a.py": "class JobManager: ...\n"}, {"src/a.py": "class Relay: ...\n"}),
    "plain_prose": ({"README.md": "# A\n\nA seamless thing.\n"}, {"README.md": "# A\n\nA thing.\n"}),
    "nothing_left": ({"src/a.py": "x = 1  # TO" + "DO later\n"}, {"src/a.py": "x = 1  # noqa: F821\n"}),
    "no_machine": ({"README.md": "cd /wor" + "k/main\n"}, {"README.md": "cd src/work/main\n"}),
    "no_hosts": ({"requirements.lock": "https://files.pythonhosted" + ".org/x\n"}, {"requirements.lock": "x==1\n"}),
    "one_title": ({"README.md": "# A\n\n# B\n"}, {"README.md": "# A\n\n```\n# B\n```\n"}),
    "tests_prove": (
        {"tests/test_a.py": "def test_a():\n    print(1)\n"},
        {"tests/test_a.py": "def test_a():\n    assert 1\n"},
    ),
    "tests_wait": (
        {"tests/test_a.py": "import time\n\ndef test_a():\n    time.sleep(1)\n"},
        {"tests/test_a.py": "import asyncio\n\nasync def test_a():\n    await asyncio.sleep(0)\n"},
    ),
    "locked": (
        {**WANTED, "requirements.lock": "click==7.1 \\\n    --hash=sha256:0\nasyncpg==0.31\n"},
        {**WANTED, "requirements.lock": "click==8.1 \\\n    --hash=sha256:0\nasyncpg==0.31\n"},
    ),
    "tests_run": (
        {"tests/test_a.py": "@pytest.mark.xfail\ndef test_a():\n    assert 0\n"},
        {"tests/test_a.py": "@pytest.mark.races\ndef test_a():\n    assert 1\n"},
    ),
}


def planted(folder: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return Tree(folder)


@pytest.mark.parametrize("name", CHECKS)
def test_the_house_is_tidy(name):
    found = list(CHECKS[name](HOUSE))
    assert found == [], "\n".join(["", *found])


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_finds_its_breach(name, tmp_path):
    breach, _ = PLANTS[name]
    assert list(CHECKS[name](planted(tmp_path, breach)))


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_passes_what_is_right(name, tmp_path):
    _, right = PLANTS[name]
    assert list(CHECKS[name](planted(tmp_path, right))) == []


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({MODEL: MOVES, GUIDE: TABLE, PLANS: ""}, id="a sweep that is not in code"),
        pytest.param({MODEL: MOVES, GUIDE: TABLE.replace("until", ""), PLANS: SWEEP}, id="an empty bound"),
        pytest.param({MODEL: MOVES, GUIDE: TABLE.replace("waiting", "asleep"), PLANS: SWEEP}, id="another state"),
    ],
)
def test_the_states_check_reads_every_cell(files, tmp_path):
    assert len(list(CHECKS["states"](planted(tmp_path, files)))) == 1


@pytest.mark.parametrize(
    "moves",
    [
        "MOVES = {State.WAITING: {State.ENDED}, State.ENDED: frozenset()}\n",
        'MOVES: Final = {"waiting": ENDED, "ended": ()}\n',
        'MOVES = MappingProxyType({("waiting", "ended"): ("wake", "expire")})\n',
    ],
)
def test_the_states_check_reads_every_form_of_table(moves, tmp_path):
    found = list(CHECKS["states"](planted(tmp_path, {MODEL: moves, GUIDE: "# Jobs\n"})))
    assert found == [f"{GUIDE} has no row | state | waker | bound | sweep | for waiting"]


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("create unique index a on steadhold.t using btree (at);\n", id="an index"),
        pytest.param("create table steadhold.u (\n  id uuid primary key,\n  at int\n);\n", id="a column's own key"),
        pytest.param("create table steadhold.u (\n  at int,\n  unique (at)\n);\n", id="a unique constraint"),
    ],
)
def test_every_kind_of_key_is_read(sql, tmp_path):
    assert len(list(CHECKS["led_by_workspace"](planted(tmp_path, {HOUSE_SQL: TABLE_SQL + sql})))) == 1


def test_an_unknown_statement_is_found(tmp_path):
    found = list(CHECKS["sql_names"](planted(tmp_path, {SQL: "-- name: a\nselect 1\n", PLANS: "x = SQL.a, SQL.b\n"})))
    assert found == [f"{PLANS}:1: no statement is named b"]


def test_a_part_belongs_to_the_statements_that_name_it(tmp_path):
    sql = "-- part: mine\nx = :workspace::text\n-- part: idle\ny\n-- name: a\nselect 1 where {mine}\n"
    house = planted(tmp_path, {SQL: sql, PLANS: "x = SQL.a\n"})
    assert (list(CHECKS["sql_names"](house)), list(CHECKS["confined"](house))) == ([f"{SQL}: nothing uses idle"], [])
