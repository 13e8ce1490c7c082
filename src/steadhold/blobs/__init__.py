"""Bytes by their digest, kept while somebody pins them."""

from __future__ import annotations

from steadhold.blobs.model import NoBytes, digest_of
from steadhold.blobs.plans import pin, prune, put, read, unpin

__all__ = ["NoBytes", "digest_of", "pin", "prune", "put", "read", "unpin"]
