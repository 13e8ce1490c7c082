"""commits and what a workspace may have: each item as if it were alone, and all of them together."""

from __future__ import annotations

import pytest

from steadhold import access, commits, jobs, state
from steadhold.commits import Committed
from tests.commits import desk


def test_quotas_are_those_of_the_rooms(conn, workspace):
    """What a workspace is not entitled to, no commit gives it."""
    access.put_entitlements(
        conn, workspace, access.Entitlements(names_max=1, job_types=("u",)), None, by=access.Actor("test", None)
    )
    state.put(conn, workspace, "a", b"1", None)
    full = commits.run(conn, workspace, apply=[desk.put(workspace, "b")])
    assert isinstance(full.outcome, access.StorageExhausted)
    typed = commits.run(conn, workspace, apply=[desk.put(workspace, "a", b"2", 1), desk.submitted(workspace)])
    assert (typed.index, type(typed.outcome)) == (1, access.NotEntitled)
    assert state.get(conn, workspace, "a").revision == 1


@pytest.mark.parametrize(
    "entitled, apply, index, why",
    [
        ({"names_max": 3}, [("put", "a"), ("put", "b"), ("submit", "j"), ("put", "c")], 3, access.StorageExhausted),
        ({"bytes_max": 8}, [("put", "a"), ("put", "b")], 1, access.StorageExhausted),
        (
            {"jobs_queued_max": 2},
            [("submit", "j"), ("put", "a"), ("submit", "k"), ("submit", "m")],
            2,
            access.QueueFull,
        ),
    ],
)
def test_items_together_use_no_more_than_there_is(conn, workspace, entitled, apply, index, why):
    """What one more request would be refused, one more item is: nothing of the commit is left."""
    state.put(conn, workspace, "one", b"1", None)
    jobs.submit(conn, workspace, jobs.Submission("t"))
    access.put_entitlements(conn, workspace, access.Entitlements(**entitled), None, by=access.Actor("test", None))

    def run(items):
        made = {"put": lambda name: desk.put(workspace, name, b"1234"), "submit": lambda _: desk.submitted(workspace)}
        return commits.run(conn, workspace, apply=[made[kind](name) for kind, name in items])

    refused = run(apply)
    assert (refused.list, refused.index, type(refused.outcome)) == ("apply", index, why)
    assert [entry.name for entry in state.names(conn, workspace, "", "", 9)] == ["one"]
    assert isinstance(run(apply[:index]), Committed)


def test_what_uses_no_more_always_passes(conn, workspace):
    """A workspace that has too much may still change what it has, and make less of it."""
    for name in "abc":
        state.put(conn, workspace, name, b"1234", None)
    access.put_entitlements(
        conn, workspace, access.Entitlements(names_max=1, bytes_max=1), None, by=access.Actor("test", None)
    )
    done = commits.run(
        conn, workspace, apply=[desk.put(workspace, "a", b"1", 1), desk.put(workspace, "b", b"1", 1),
                                state.delete.call(workspace, "c", 1)],
    )  # fmt: skip
    assert isinstance(done, Committed)
