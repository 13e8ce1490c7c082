"""context in a commit: the bytes of a write are few, or are there already."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from steadhold.context import model, plans, references
from steadhold.context.doors import path_of, permitted, put_render
from steadhold.context.wire import PutBody
from steadhold.kit import limits
from steadhold.web import conditions, decode, problem
from steadhold.web.ask import Ask, Request


def put_item(ask: Request) -> Ask[Any]:
    """A write of a commit, whose bytes are few or are there already."""
    path, expected, body = path_of(ask), conditions.put(ask), decode.body(ask, PutBody)
    render, touches = put_render(path, expected), (("context", path),)
    if sum(member is not None for member in (body.text, body.base64, body.reference)) != 1:
        problem.stop("bad_member", "Say exactly one of text, base64 and reference.", pointer="")
    if body.content_type is not None and (why := model.content_type_fault(body.content_type)):
        problem.stop("bad_member", why, pointer="/content_type")
    if body.reference is not None:
        named = _readable(ask, body.reference, "/reference")
        call = references.put_reference.call(ask.workspace, path, named, expected, body.content_type, ask.fences)
        return Ask(call, render, touches=touches)
    kind, raw = body.content_type or model.OCTETS, _inline(body)
    return Ask(plans.put.call(ask.workspace, path, raw, expected, kind, ask.fences), render, touches=touches)


def _readable(ask: Request, text: str, pointer: str) -> str:
    """A reference whose bytes the key may read."""
    named = model.reference(text)
    if named is None:
        problem.stop("bad_member", model.reference_fault(text) or "", pointer=pointer)
    permitted(ask, "context:read", named.path)
    return text


def _inline(body: PutBody) -> bytes:
    if body.base64 is None:
        raw = (body.text or "").encode()
    else:
        try:
            raw = base64.b64decode(body.base64, validate=True)
        except (binascii.Error, ValueError):
            problem.stop("bad_member", "base64 is in the standard alphabet, padded.", pointer="/base64")
    if len(raw) > limits.CONTEXT_INLINE_BYTES_MAX:
        most = limits.CONTEXT_INLINE_BYTES_MAX
        problem.stop("too_large", f"At most {most} bytes stand in a commit; refer to more.", bytes_max=most)
    return raw
