"""Plans of the room as verbs that a connection can play."""

from __future__ import annotations

from steadhold import blobs
from steadhold.kit.plan import operation

put, pin, unpin, keep, adopt = map(operation, (blobs.put, blobs.pin, blobs.unpin, blobs.keep, blobs.adopt))
