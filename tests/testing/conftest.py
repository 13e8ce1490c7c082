"""A small table to race on: jobs that are held under a fence until some time."""

from __future__ import annotations

import pytest

from steadhold.testing.fixtures import clock  # noqa: F401 - here it is the public one that is tested

LAB = """
create schema if not exists lab;
create table if not exists lab.jobs (
  workspace text not null, id int not null, state text not null, fence int not null, until timestamptz not null,
  primary key (workspace, id));
grant usage on schema lab to steadhold_app;
grant select, insert, update on lab.jobs to steadhold_app;
"""


@pytest.fixture(scope="session")
def lab(database):
    with database.connect() as conn:
        conn.execute(LAB)
