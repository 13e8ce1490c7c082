"""What PostgreSQL does with a prepared statement of which it does not know the arguments."""

from __future__ import annotations

import re

_WAY = r"Index Scan (?:Backward )?using (\w+)|Index Only Scan (?:Backward )?using (\w+)"
TOUCHED = re.compile(rf"(Seq Scan|Bitmap Heap Scan|{_WAY}) on (\w+)")
MAPPED = re.compile(r"Bitmap Index Scan on (\w+)")


def walks(conn, sql):
    """How the statement reaches each table of the house: {table: {index, or "Seq Scan"}}.

    A bitmap is reached by the indexes that stand below it in the plan.
    """
    conn.execute("set local plan_cache_mode = force_generic_plan")
    conn.execute(f"prepare asked as {sql.numbered}".replace("%", "%%").encode())
    nulls = ", ".join(["null"] * len(sql.params))
    lines = conn.execute(f"explain execute asked({nulls})" if nulls else "explain execute asked").fetchall()
    conn.execute("deallocate asked")
    found = {}
    mapped = set()
    for (line,) in lines:
        if match := TOUCHED.search(line):
            ways = found.setdefault(match[4], set())
            if match[1] == "Bitmap Heap Scan":
                mapped = ways
            else:
                ways.add(match[2] or match[3] or match[1])
        elif match := MAPPED.search(line):
            mapped.add(match[1])
    assert found, "\n".join(line for (line,) in lines)
    return found
