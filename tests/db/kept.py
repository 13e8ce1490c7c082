"""A table to see whether data stayed."""

from __future__ import annotations

import psycopg

from steadhold.db.embedded import Embedded


def rows(pg: Embedded) -> list[int]:
    with psycopg.connect(pg.dsn) as conn:
        return [n for (n,) in conn.execute("select n from kept order by n")]


def keep(pg: Embedded, n: int) -> None:
    with psycopg.connect(pg.dsn) as conn:
        conn.execute("create table if not exists kept (n int)")
        conn.execute("insert into kept values (%s)", (n,))
