"""A commit of the library takes no call that its verb would not take, and changes nothing then."""

from __future__ import annotations

import pytest

from steadhold import commits, events, locks, state
from steadhold.commits import Committed
from steadhold.events import Happened
from steadhold.kit.outcome import Missing
from steadhold.kit.rules import Misuse


def test_a_call_that_cannot_be_is_told_before_anything_is_changed(conn, workspace):
    fit = state.put.call(workspace, "a", b"1", None)
    unfit = (
        state.put.call(workspace, "a//b", b"1", None),
        state.put.call(workspace, "b", b"no JSON", None),
        events.append.call(workspace, "o", None, [Happened("a b")]),
        locks.release.call(workspace, "a/b", 1),
    )
    for call in unfit:
        with pytest.raises(Misuse, match=r"apply\[1\]: "):
            commits.run(conn, workspace, apply=[fit, call])
    with pytest.raises(Misuse, match=r"require\[0\]: "):
        commits.run(conn, workspace, require=[events.require.call(workspace, "a b", 1)], apply=[fit])
    assert isinstance(state.get(conn, workspace, "a"), Missing)
    assert isinstance(commits.run(conn, workspace, apply=[fit]), Committed)
