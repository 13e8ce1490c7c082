"""What PostgreSQL does with a prepared statement of which it does not know the arguments."""

from __future__ import annotations

import re
from functools import partial
from itertools import takewhile

import pytest

from steadhold.play.transaction import opening

INTO = re.compile(r"\binsert into (\S+)")
READING = {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan"}
WHOLE = {"Seq Scan", "all of the index", "all of the workspace"}
"""Ways on which a statement reads what nobody named: by no index, or by one of which it asks at most the workspace."""

COLUMNS = """
select array(select pg_get_indexdef(i.indexrelid, n, true) from generate_series(1, i.indnkeyatts) n)
from pg_index i where i.indexrelid = ('steadhold.' || %s)::regclass
"""


def crowd(inserts):
    """A fixture: a transaction of the module, rolled back, with so much in a workspace `w` that a scan would never do.

    It is set as our sessions are. A test that writes in it takes that back, so that all tests see the same crowd.
    """

    @pytest.fixture(scope="module")
    def crowded(database):
        workspace = database.new_workspace()
        with database.connect() as conn, conn.transaction(force_rollback=True):
            for text in inserts.strip().removesuffix(";").split(";"):
                conn.execute(text.encode(), {"w": workspace})
            conn.execute(f"analyze {', '.join(sorted({*INTO.findall(inserts)}))}".encode())
            settle(conn, workspace)
            conn.execute("set local idle_in_transaction_session_timeout = 0")  # between two tests there may be others
            yield conn

    return crowded


def settle(conn, workspace):
    """Set a transaction that has begun as ours are."""
    conn.execute(opening(workspace, 5_000).partition(";")[2].encode())


def walks(conn, sql, **said):
    """How the statement reaches each table of the house: {table: {index, or "Seq Scan"}}.

    A bitmap is reached by the indexes that stand below it in the plan. Beside an index of whose first two columns none
    is asked, or the workspace alone, stands "all of the index" or "all of the workspace".
    """
    found = reached(conn, planned(conn, sql, **said))
    assert found, sql.numbered
    return found


def reached(conn, plan):
    found = {}
    for node in plan:
        if node["Node Type"] in READING:
            found.setdefault(node["Relation Name"], set()).update(ways(conn, node))
    return found


def ways(conn, scan):
    if not (index := scan.get("Index Name")):
        return {scan["Node Type"]}
    ((columns,),) = conn.execute(COLUMNS, [index]).fetchall()
    asked = [*takewhile(partial(asks, scan.get("Index Cond", "")), columns)]
    if len(asked) > 1 or asked == columns:
        return {index}
    return {index, "all of the workspace" if asked else "all of the index"}


def asks(condition, column):
    """Whether a condition names a column of the index itself: others stand there behind the name of their table."""
    return re.search(rf"(?<![\w.:']){column}\b", condition)


def conditions(conn, sql, index):
    """Each condition by which the statement walks an index."""
    return [node.get("Index Cond", "") for node in planned(conn, sql) if node.get("Index Name") == index]


def planned(conn, sql, **said):
    """The plan of a statement, node by node, for arguments in SQL, or null. What fails leaves nothing behind."""
    values = ", ".join(said.get(param, "null") for param in sql.params)
    with conn.transaction(force_rollback=True):
        conn.execute("deallocate all")
        conn.execute(f"prepare asked as {sql.numbered}".encode())
        return explained(conn, f"execute asked({values})" if values else "execute asked")


def explained(conn, text):
    """The plan of a text as it is planned here and now, node by node."""
    ((plan,),) = conn.execute(f"explain (format json) {text}".encode()).fetchall()
    return [*nodes(plan[0]["Plan"])]


def looked_up(conn, function, **said):
    """How the query of a function reaches each table, asked as whoever it runs as, for arguments in SQL."""
    found = conn.execute("select prosrc, prosecdef from pg_proc where proname = %s", [function]).fetchall()
    ((text, definers),) = found
    for param, value in said.items():
        text = text.replace(param, value)
    with conn.transaction(force_rollback=True):
        if definers:
            conn.execute("set local role none")
        return reached(conn, explained(conn, text))


def nodes(node, table=None):
    """A node of a plan and all below it. One that walks an index for a bitmap knows of which table, too."""
    table = node.get("Relation Name", table)
    yield node | {"Relation Name": table} if node["Node Type"] == "Bitmap Index Scan" else node
    for inner in node.get("Plans", ()):
        yield from nodes(inner, table)
