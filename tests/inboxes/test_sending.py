"""inboxes.send leaves a publication in the caller's transaction, once for each sending."""

from __future__ import annotations

import pytest

from steadhold import inboxes
from steadhold.events import subscribing


@pytest.fixture
def pending(conn, workspace):
    """What is on its way, once there is an inbox `b`."""
    inboxes.put(conn, workspace, "b", inboxes.Retention(), None)
    return lambda: subscribing.publications(conn, workspace, "pending", None, 10)


def test_a_sending_is_one_publication_however_often_it_is_sent(conn, workspace, pending):
    sending = inboxes.Sending(type="order.placed", data=b'{"n": 1}')
    assert not inboxes.send(conn, workspace, "b", sending).again
    assert inboxes.send(conn, workspace, "b", sending).again
    assert len(pending()) == 1
    assert not inboxes.send(conn, workspace, "b", inboxes.Sending(type="order.placed")).again
    assert len(pending()) == 2
    assert isinstance(inboxes.send(conn, workspace, "none", sending), inboxes.NoInbox)
