"""What a function that looks for what is due asks."""

from __future__ import annotations

import re

from tests.operations.generic_plan import explained

EXECUTES = re.compile(r"begin return query execute (.*); end", re.DOTALL)


def planned(conn, name):
    """The plan of the statement that a function executes, with the settings of the function (migration 0031)."""
    ((body, settings),) = conn.execute("select prosrc, proconfig from pg_proc where proname = %s", [name]).fetchall()
    ((text,),) = conn.execute(f"select {EXECUTES.fullmatch(body)[1]}".encode()).fetchall()
    with conn.transaction(force_rollback=True):
        conn.execute("set local role none")  # as its definer
        for setting in settings:
            conn.execute("select set_config(%s, %s, true)", setting.split("=", 1))
        return explained(conn, text)
