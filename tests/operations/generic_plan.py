"""What PostgreSQL does with a prepared statement of which it does not know the arguments."""

from __future__ import annotations

import re
from contextlib import contextmanager
from itertools import pairwise

_WAY = r"Index Scan (?:Backward )?using (\w+)|Index Only Scan (?:Backward )?using (\w+)"
TOUCHED = re.compile(rf"(Seq Scan|Bitmap Heap Scan|{_WAY}) on (\w+)")
MAPPED = re.compile(r"Bitmap Index Scan on (\w+)")
ALL = re.compile(r"\s*Index Cond: \(workspace = [^ ]+\)")
WHOLE = {"Seq Scan", "all of the workspace"}
"""Ways on which a statement reads what nobody named: by no index, or by one of which it asks the workspace only."""


@contextmanager
def crowd(database, workspace, inserts, tables=""):
    """A transaction, rolled back, in which so much is inserted for the workspace `w` that a scan would never do."""
    with database.connect() as conn, conn.transaction(force_rollback=True):
        for text in inserts.strip().removesuffix(";").split(";"):
            conn.execute(text.encode(), {"w": workspace})
        conn.execute(f"analyze {tables}".encode())
        yield conn


def walks(conn, sql):
    """How the statement reaches each table of the house: {table: {index, or "Seq Scan"}}.

    A bitmap is reached by the indexes that stand below it in the plan. Where nothing but the workspace is asked of an
    index of several columns, "all of the workspace" stands beside it.
    """
    lines = explained(conn, sql)
    found = {}
    mapped = set()
    for line, below in pairwise([*lines, ""]):
        if match := TOUCHED.search(line):
            ways = found.setdefault(match[4], set())
            if match[1] == "Bitmap Heap Scan":
                mapped = ways
                continue
            ways.add(match[2] or match[3] or match[1])
        elif match := MAPPED.search(line):
            ways = mapped
            ways.add(match[1])
        if match and ALL.fullmatch(below):
            ways.add("all of the workspace")
    assert found, "\n".join(lines)
    return found


def conditions(conn, sql, index):
    """Each condition by which the statement walks an index."""
    lines = explained(conn, sql)
    scans = [at for at, line in enumerate(lines) if re.search(rf"Scan (using|on) {index}\b", line)]
    return [next(line for line in lines[at:] if "Index Cond" in line) for at in scans]


def explained(conn, sql):
    """The lines of the plan that PostgreSQL makes of a statement for any argument."""
    conn.execute("set local plan_cache_mode = force_generic_plan")
    conn.execute(f"prepare asked as {sql.numbered}".replace("%", "%%").encode())
    nulls = ", ".join(["null"] * len(sql.params))
    lines = conn.execute(f"explain execute asked({nulls})" if nulls else "explain execute asked").fetchall()
    conn.execute("deallocate asked")
    return [line for (line,) in lines]
