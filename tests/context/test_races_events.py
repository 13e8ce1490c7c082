"""What an event refers to, under those who let it go: an event that is kept has its bytes."""

from __future__ import annotations

import pytest

from steadhold import blobs, context, events
from steadhold.context import Content
from steadhold.events import Appended, Happened
from tests.context.test_races import NAMED, aged, outdate
from tests.jobs.racing import preempted

pytestmark = pytest.mark.races


def test_an_event_and_a_prune_cannot_miss_each_other(explore):
    def check(scene):
        scene.play(blobs.prune.call(scene.workspace, 10))
        found = scene.play(context.resolve.call(scene.workspace, NAMED))
        assert isinstance(found, Content) == isinstance(scene.outcomes["append"], Appended)

    told = [Happened("t", b"1", data_ref=NAMED)]
    seen = preempted(
        explore,
        setup=aged,
        actors={
            "append": lambda scene: events.append.call(scene.workspace, "order", None, told),
            "prune": lambda scene: [outdate.call(scene.workspace), blobs.prune.call(scene.workspace, 10)],
        },
        always=check,
    )
    assert {type(outcomes["append"]).__name__ for outcomes in seen} == {"Appended", "ReferenceUnknown"}
