"""What a door of webhooks would refuse, a verb refuses, and says which argument it was."""

from __future__ import annotations

from datetime import datetime

import pytest

from steadhold.access.model import Actor
from steadhold.kit.rules import Misuse
from steadhold.webhooks import plans, replaying
from steadhold.webhooks.model import Spec

ID, BY = "0193a5f0-0000-7000-8000-000000000000", Actor("boss", None)


def spec(types=("*",), **said):
    return Spec("https://example.com/", types, **said)


@pytest.mark.parametrize(
    ("verb", "args", "said", "why"),
    [
        (plans.create, ("me", spec(), ()), {"by": BY}, "id: It matches"),
        (plans.create, (ID, spec(()), ()), {"by": BY}, r"spec\.types: It is at least 1"),
        (plans.create, (ID, spec(("a", "")), ()), {"by": BY}, r"spec\.types\[1\]: It is at least 1"),
        (plans.create, (ID, spec(rate=0.0), ()), {"by": BY}, r"spec\.rate: It is more than 0"),
        (plans.create, (ID, spec(concurrency=65), ()), {"by": BY}, r"spec\.concurrency: It is at most 64"),
        (plans.create, (ID, spec(retry_seconds=(-1.0,)), ()), {"by": BY}, r"spec\.retry_seconds\[0\]: It is at least"),
        (plans.get, ("",), {}, "id: It matches"),
        (plans.listed, ("", 0), {}, "limit: It is at least 1"),
        (replaying.delivery, ("x",), {}, "id: It matches"),
        (replaying.replay, (ID, "x"), {}, "new_id: It matches"),
        (replaying.replay_many, (ID, ID, datetime(2030, 1, 1), "all"), {}, "since: It has a time zone"),  # noqa: DTZ001
        (replaying.replay_many, (ID, ID, datetime(2030, 1, 1), "some"), {}, "since: "),  # noqa: DTZ001
    ],
)
def test_what_no_door_would_take(conn, workspace, verb, args, said, why):
    with pytest.raises(Misuse, match=rf"^webhooks\.\w+: {why}"):
        verb(conn, workspace, *args, **said)
