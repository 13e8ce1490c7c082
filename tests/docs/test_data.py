"""What else stands in blocks is what it says it is: JSON, settings, SQL, a union; and no block is anything else."""

from __future__ import annotations

import re
import uuid
from typing import get_args

import msgspec
import psycopg
import pytest
import yaml

from steadhold.jobs import model
from steadhold.server import sources
from tests.docs.blocks import BLOCKS, PAGES, ROOT, named, of
from tests.docs.test_requests import PAGES as SENT_PAGES

READ_HERE = {"console", "http", "json", "python", "sql", "toml", "typescript", "yaml"}
DRAWN = {"mermaid", "text"}
"""Drawings, and what a program prints: nothing runs them."""
COMPILED = {"ts": "tests/clients/test_example.py"}
ORDERS = "create temporary table orders as select 7 as id, false as paid"
VALUES = {3: ("site", 1, "v42"), 2: ("deploy", 1)}


def test_no_block_is_anything_else():
    assert {block.language for block in BLOCKS} <= READ_HERE | DRAWN | COMPILED.keys()
    for page, text in PAGES.items():
        assert text.count("```") == 2 * sum(block.page == page for block in BLOCKS), page
    assert all((ROOT / COMPILED[block.language]).is_file() for block in of(*COMPILED))
    assert {block.page for block in of("http")} == set(SENT_PAGES)


@pytest.mark.parametrize("block", of("json"), ids=named)
def test_json_is_json(block):
    assert msgspec.json.decode(block.text.encode())


@pytest.mark.parametrize("block", of("yaml"), ids=named)
def test_yaml_is_yaml(block):
    assert isinstance(yaml.safe_load(block.text), dict)


@pytest.mark.parametrize("block", of("toml"), ids=named)
def test_settings_are_settings(block, tmp_path):
    secret, file = tmp_path / "secret", tmp_path / "settings.toml"
    secret.write_text("postgresql://db.internal/steadhold")
    file.write_text(re.sub(r'_file = ".*"', f'_file = "{secret}"', block.text))
    loaded = sources.load(environ={}, file=file)
    assert [name for name, origin in loaded.origins.items() if origin != "default"]


@pytest.fixture
def owner(site):
    with psycopg.connect(site.database.dsn) as conn:
        yield conn
        conn.rollback()


@pytest.mark.parametrize("page", sorted({block.page for block in of("sql")}))
def test_sql_runs(page, site, key, owner):
    """As it stands but for the names: of the database, of a role that is made for it, of the workspace."""
    role = f"billing_{uuid.uuid4().hex[:8]}"
    owner.execute(f"create role {role}")
    owner.execute(ORDERS)
    appended = (
        "select set_config('steadhold.workspace', %s, true),"
        " steadhold.append_event('order-7', null, 'order.placed', null, state => 'placed')"
    )
    owner.execute(appended, [key.workspace])
    for block in of("sql"):
        if block.page == page:
            text = block.text.replace("to billing", f"to {role}").replace("'acme'", f"'{key.workspace}'")
            text = text.replace("database steadhold ", f"database {owner.info.dbname} ")
            text = re.sub(r"^(begin|commit);$", "", text, flags=re.MULTILINE)
            owner.execute(text, VALUES.get(text.count("%s")))
    assert owner.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS


def test_the_union_of_jobs_is_the_models():
    (block,) = of("typescript")
    members = [tuple(re.findall(r"(\w+): (?:string|(\"[^;}]*))", line)) for line in block.text.splitlines()[1:]]
    shown = {state: {name for name, _ in member} for member in members for state in re.findall(r'"(\w+)"', str(member))}
    assert shown == {job.__struct_config__.tag: {*job.__struct_fields__, "state"} for job in get_args(model.Job)}
