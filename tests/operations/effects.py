"""An effect to put under a key: an aggregate can be made once, so making it again refuses."""

from __future__ import annotations

from steadhold import events, operations
from steadhold.events import Happened


def make(workspace, name="thing"):
    return events.append.call(workspace, name, None, [Happened("thing.made")])


def under(key, call, fingerprint=b"f", **kept):
    return operations.receipted(
        call, key=key, fingerprint=fingerprint, seal=lambda made: operations.Sealed(201, revision=made.revision), **kept
    )
