"""What tests of context do again and again, on one connection."""

from __future__ import annotations

import hashlib

from steadhold import access, context
from steadhold.context import uploads
from steadhold.context.model import Kept, Reference, Upload
from steadhold.kit.ids import new_id
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES

BIG = bytes(range(256)) * 4096 + b"end"
"""A little more than what is written in one piece."""
OPERATOR = access.Actor("operator", None)


def put(conn, workspace, path, body=b"1", expected=None, **more):
    """Write, creating by default."""
    return context.put(conn, workspace, path, body, expected, **more)


def read(conn, workspace, path):
    return context.get(conn, workspace, path).content.body


def upload(conn, workspace, body, path="n", expected=None):
    """Bring bytes piece by piece; what is to be written then."""
    reserved = uploads.begin_upload(conn, workspace, path, expected, len(body), new_id())
    for at in range(0, len(body), CONTEXT_CHUNK_BYTES):
        piece = body[at : at + CONTEXT_CHUNK_BYTES]
        assert uploads.keep(conn, workspace, reserved.upload, at // CONTEXT_CHUNK_BYTES, piece) == Kept(
            at // CONTEXT_CHUNK_BYTES
        )
    return Upload(reserved.upload, len(body), hashlib.sha256(body).digest())


def limit(conn, workspace, **most):
    """Give the workspace these entitlements."""
    return access.put_entitlements(conn, workspace, access.Entitlements(**most), None, by=OPERATOR)


def counted(conn, workspace, what="bytes"):
    """What is counted as used, which is also what is there."""
    asked = "select sum(amount) from steadhold.meters where workspace = %s and what = %s"
    ((metered,),) = conn.execute(asked, [workspace, what]).fetchall()
    assert metered == access.entitlements(conn, workspace).used[what]
    return metered


def chunks(conn, workspace):
    return conn.execute("select count(*) from steadhold.blobs where workspace = %s", [workspace]).fetchone()[0]


def refer(path, revision, body):
    return str(Reference(path, revision, hashlib.sha256(body).digest()))
