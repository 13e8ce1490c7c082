"""What a door of access would refuse, a verb refuses, and says which argument it was."""

from __future__ import annotations

import pytest

from steadhold import access
from steadhold.access.model import Actor, Entitlements
from steadhold.kit.rules import Misuse

BY = Actor("boss", None)
KEY = {"subject": "s", "kind": "service", "scopes": (), "expires_in_seconds": None, "by": BY}


@pytest.mark.parametrize(
    ("verb", "args", "said", "why"),
    [
        ("make_key", ("k", b""), KEY | {"subject": "a b"}, "subject: An id"),
        ("make_key", ("k", b""), KEY | {"kind": "robot"}, "kind: It is one of"),
        ("make_key", ("k", b""), KEY | {"scopes": ("state:read", "nothing")}, r"scopes\[1\]: "),
        ("make_key", ("k", b""), KEY | {"scopes": "*:*"}, "scopes: "),
        ("make_key", ("k", b""), KEY | {"scopes": ("*:*",) * 65}, "scopes: It is at most 64"),
        ("make_key", ("k", b""), KEY | {"expires_in_seconds": 0}, "expires_in_seconds: It is more than 0"),
        ("rotate_key", ("k", b""), {"grace_seconds": -1.0, "by": BY}, "grace_seconds: It is at least 0"),
        ("put_entitlements", (Entitlements(names_max=-1), None), {"by": BY}, r"wanted\.names_max: It is at least 0"),
        (
            "put_entitlements",
            (Entitlements(requests_per_second_max=0), None),
            {"by": BY},
            r"wanted\.requests_per_second_max: It is at least 1",
        ),
        ("keys", ("", 0), {}, "limit: It is at least 1"),
    ],
)
def test_what_no_door_would_take(conn, workspace, verb, args, said, why):
    with pytest.raises(Misuse, match=rf"^access\.{verb}: {why}"):
        getattr(access, verb)(conn, workspace, *args, **said)
