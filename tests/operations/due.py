"""What a function that looks for what is due asks."""

from __future__ import annotations

import re

EXECUTES = re.compile(r"begin return query execute (.*); end", re.DOTALL)


def asked(conn, name):
    """The statement that a function executes (migration 0031)."""
    ((body,),) = conn.execute("select prosrc from pg_proc where proname = %s", [name]).fetchall()
    literal = EXECUTES.fullmatch(body)[1]
    ((text,),) = conn.execute(f"select {literal}".encode()).fetchall()
    return text
