"""Schedules that send to an inbox, and the relay that brings what they send."""

from __future__ import annotations

from datetime import timedelta

from steadhold import inboxes
from steadhold.events import relaying
from steadhold.fences import Granted
from steadhold.kit.fields import FenceRef
from steadhold.schedules import Event, Spec

HOUR = timedelta(hours=1)
DATA = b'{"of":  "sales", "n": 1.50}'


def sends(inbox="a", **said):
    more = {"every_seconds": 3_600, "overlap": "enqueue", "missed": "all", "window_seconds": 86_400}
    return Spec(event=Event(inbox, "report.due", DATA), **{**more, **said})


def relay(play, workspace, inbox="a"):
    """What the relay does, until nothing is left to do."""
    while lanes := play(relaying.lanes.call(workspace)):
        for target, lane in lanes:
            got = play(relaying.hold_lane.call(workspace, target, lane, "relay"))
            assert isinstance(got, Granted)
            ref = FenceRef(got.subject, got.fence)
            play(relaying.deliver.call(workspace, target, lane, ref, "", inboxes.publish))
            play(relaying.leave_lane.call(workspace, ref))
