"""Bytes are known by their digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from steadhold.kit.plan import Refusal


@dataclass(frozen=True, slots=True)
class NoBytes(Refusal):
    """No bytes of this SHA-256 are stored in the workspace."""

    digest: bytes


def digest_of(data: bytes) -> bytes:
    """Compute the SHA-256 by which bytes are known."""
    return hashlib.sha256(data).digest()


def upload_key(upload: str) -> bytes:
    """Compute what stands in for the digest of an upload that is not whole yet."""
    return hashlib.sha256(b"upload:" + upload.encode()).digest()
