"""state: exact JSON bytes under compare-and-swap."""

from __future__ import annotations

from steadhold.state.model import (
    Entry,
    Get,
    Missing,
    NothingWritten,
    Pruned,
    Put,
    Revision,
    RevisionConflict,
    StaleFence,
    StorageExhausted,
    Stored,
    Written,
)
from steadhold.state.plans import batch, delete, get, get_revision, hold, names, put, require, revisions

__all__ = [
    "Entry",
    "Get",
    "Missing",
    "NothingWritten",
    "Pruned",
    "Put",
    "Revision",
    "RevisionConflict",
    "StaleFence",
    "StorageExhausted",
    "Stored",
    "Written",
    "batch",
    "delete",
    "get",
    "get_revision",
    "hold",
    "names",
    "put",
    "require",
    "revisions",
]
