"""An envelope where only clients that hold its key can open it."""

from __future__ import annotations

from steadhold.envelopes import Bound, Keyring, seal
from steadhold.kit.sealed import MEDIA_TYPE

KEYS = Keyring.generate()


async def sealed_for(door, workspace, kind, name, data=b"1", content_type="application/json"):
    """Make the first segment of the name a private prefix, and put an envelope there; its bytes."""
    prefix = name.partition("/")[0]
    made = await door("PUT", f"/v1/private-prefixes/{kind}/{prefix}", if_none_match="*")
    assert made.status == 201, made.body
    bound = Bound(workspace=workspace, kind=kind, name=name, content_type=content_type, revision=1)
    envelope = seal(KEYS, bound, data)
    put = await door("PUT", f"/v1/{kind}/{name}", envelope, if_none_match="*", content_type=MEDIA_TYPE)
    assert put.status == 201, put.body
    return envelope
