"""What the tests of commits are made of."""

from __future__ import annotations

import msgspec

from steadhold import commits, jobs, locks, state
from steadhold.commits.routes import commit
from steadhold.jobs import Complete, Settlement, Submission
from steadhold.kit.ids import new_id
from steadhold.web.ask import Principal, Request


def lock(workspace, name, seconds=30.0):
    return locks.acquire.call(workspace, name, "anna", seconds)


def put(workspace, name, body=b"1", expected=None):
    return state.put.call(workspace, name, body, expected)


def at(workspace, name, expected):
    return state.require.call(workspace, name, expected)


def run(workspace, require=(), apply=()):
    return commits.run.call(workspace, require, apply)


def submitted(workspace, **kw):
    return jobs.submit.call(workspace, Submission("t", **kw))


def finished(workspace, job, result=b"null"):
    return jobs.settle.call(workspace, Settlement(job.id, job.fence, Complete(result)))


def running(play, workspace):
    """A job that is admitted and claimed."""
    id = play(submitted(workspace)).id
    (claimed,) = [job for job in play(jobs.claim.call(workspace, "w", ["t"], 100)) if job.id == id]
    return claimed


def calls_of(workspace, body):
    """The call that a commit over HTTP would be."""
    who = Principal(workspace, "anna", "k", "service", ("*:*",))
    raw = msgspec.json.encode(body)
    ask = Request(who, workspace, {}, {}, {}, raw, new_id(), (), None, None, "POST", permits=lambda *_: True)
    return commit(ask).call


def everything(conn, workspace):
    """All that a workspace holds, so that nothing can have been left unseen: its rows, table by table."""
    tables = conn.execute(
        "select c.table_name from information_schema.columns c join information_schema.tables t"
        " using (table_schema, table_name) where c.table_schema = 'steadhold' and c.column_name = 'workspace'"
        " and t.table_type = 'BASE TABLE' order by 1"
    ).fetchall()
    return {
        table: conn.execute(
            f"select t::text from steadhold.{table} t where t.workspace = %s order by 1", [workspace]
        ).fetchall()
        for (table,) in tables
    }
