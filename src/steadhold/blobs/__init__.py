"""Bytes by their digest, kept while somebody pins them."""

from __future__ import annotations

from steadhold.blobs.model import NoBytes, digest_of
from steadhold.blobs.plans import (
    adopt,
    drop,
    keep,
    part,
    pin,
    pin_held,
    prune,
    put,
    put_known,
    read,
    unpin,
    unpin_each,
)

__all__ = [
    "NoBytes",
    "adopt",
    "digest_of",
    "drop",
    "keep",
    "part",
    "pin",
    "pin_held",
    "prune",
    "put",
    "put_known",
    "read",
    "unpin",
    "unpin_each",
]
