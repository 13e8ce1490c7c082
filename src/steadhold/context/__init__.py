"""context: files of bytes with immutable revisions, inside bounded storage."""

from __future__ import annotations

from steadhold.context.model import (
    Content,
    Entry,
    Missing,
    Moved,
    PathTaken,
    Pruned,
    Reference,
    Revision,
    RevisionConflict,
    StaleFence,
    StorageExhausted,
    Stored,
    Unresolved,
    Usage,
    Written,
    reference,
    reference_fault,
    refers_to_context,
)
from steadhold.context.plans import delete, move, put, require
from steadhold.context.reading import get, get_revision, names, revisions, usage
from steadhold.context.references import pin, put_reference, resolve, unpin
from steadhold.context.relying import Finds, Found, find, pin_found, unknown, unpin_owners
from steadhold.context.writing import hold

__all__ = [
    "Content",
    "Entry",
    "Finds",
    "Found",
    "Missing",
    "Moved",
    "PathTaken",
    "Pruned",
    "Reference",
    "Revision",
    "RevisionConflict",
    "StaleFence",
    "StorageExhausted",
    "Stored",
    "Unresolved",
    "Usage",
    "Written",
    "delete",
    "find",
    "get",
    "get_revision",
    "hold",
    "move",
    "names",
    "pin",
    "pin_found",
    "put",
    "put_reference",
    "reference",
    "reference_fault",
    "refers_to_context",
    "require",
    "resolve",
    "revisions",
    "unknown",
    "unpin",
    "unpin_owners",
    "usage",
]
