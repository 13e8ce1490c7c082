"""What is kept of an approval: who did what, for ever, and nothing of a refusal."""

from __future__ import annotations

import pytest

from steadhold import access
from steadhold.approvals import Moved
from tests.approvals.people import AGENT, TWO, person


def test_everything_done_is_audited(desk):
    id = desk.approved()
    desk.act(id)
    trail = access.trail(desk.conn, desk.workspace, 10, resource=f"approval:{id}")
    assert [(row.kind, row.subject, row.key_id) for row in trail] == [
        ("approval.used", "agent", "key-of-agent"),
        ("approval.voted", "anna", "key-of-anna"),
        ("approval.requested", "agent", "key-of-agent"),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "update steadhold.approval_acts set subject = 'x'",
        "delete from steadhold.approval_acts",
        "delete from steadhold.approvals",
        "update steadhold.approvals set hash = hash",
        "update steadhold.approvals set approvers = null",
        "update steadhold.approvals set expires_at = expires_at",
        "update steadhold.approvals set quorum = 1",
    ],
)
def test_what_was_asked_and_done_cannot_be_rewritten(desk, sql):
    desk.approved()
    with pytest.raises(Exception, match="permission denied"):
        desk.conn.execute(sql)


def test_a_refusal_tells_nothing(desk):
    id = desk.approved()
    before = desk.told(id)
    for refused in (
        desk.reject(id),
        desk.act(id, TWO),
        desk.withdraw(id, by=AGENT),
        desk.revoke(id, by=person("x", "state:*")),
    ):
        assert not isinstance(refused, Moved)
    assert desk.told(id) == before
    assert len(access.trail(desk.conn, desk.workspace, 10, resource=f"approval:{id}")) == 2
