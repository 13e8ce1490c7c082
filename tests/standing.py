"""Time that stands: a test says when it passes, so how long the machine takes makes no difference."""

from __future__ import annotations

from contextlib import contextmanager

RUNS = "pg_catalog.clock_timestamp()"
CREEPS = """timestamptz '{}' + interval '1 microsecond' * case current_setting('transaction_read_only')
    when 'on' then (select last_value from steadhold_test.ticks) else nextval('steadhold_test.ticks') end"""


@contextmanager
def standing(database):
    """Let a database's time stand for everybody, but for what the test moves it by.

    Each look is a microsecond after the one before it, as nothing happens at the very same time; those of a transaction
    that only reads are at the time of the last one.
    """
    with database.connect() as conn:
        conn.execute("create sequence if not exists steadhold_test.ticks")
        conn.execute("alter sequence steadhold_test.ticks restart")
        runs, now = conn.execute(f"select pg_get_functiondef('steadhold.clock'::regproc), {RUNS}::text").fetchone()
        stands = runs.replace(RUNS, CREEPS.format(now))
        assert stands != runs
        conn.execute(stands)
        try:
            yield
        finally:
            conn.execute(runs)
