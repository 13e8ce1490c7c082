"""approvals: artifacts that lie in context. Their hash is computed here, and they stay as long as the approval does."""

from __future__ import annotations

import hashlib

from steadhold import blobs, context
from steadhold.approvals.model import Artifact
from steadhold.approvals.outcomes import HashMismatch
from steadhold.kit.plan import Plan


def hash_fault(workspace: str, artifact: Artifact, found: context.Found) -> Plan[HashMismatch | None]:
    """Compare what is said of an artifact with its bytes, which are there."""
    if artifact.length is not None and artifact.length != found.bytes:
        return HashMismatch(artifact.reference, None, found.bytes)
    algorithm, _, said = artifact.hash.partition(":")
    is_so = found.named.digest.hex()
    if algorithm != "sha256":
        is_so = yield from _hash(workspace, algorithm, found)
    return None if said == is_so else HashMismatch(artifact.reference, f"{algorithm}:{is_so}", found.bytes)


def _hash(workspace: str, algorithm: str, found: context.Found) -> Plan[str]:
    """Hash bytes piece by piece."""
    total, at = hashlib.new(algorithm), 0
    while at < found.bytes:
        piece = yield from blobs.part.plan(workspace, found.named.digest, at, found.bytes)
        assert isinstance(piece, bytes), "bytes that are locked do not go"
        total.update(piece)
        at += len(piece)
    return total.hexdigest()
