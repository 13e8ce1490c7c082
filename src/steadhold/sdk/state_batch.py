"""state: the items of a batch, and what each came to."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from steadhold.kit.sealed import OPENING
from steadhold.sdk.words import NOTHING, UNSET, raw_json, said_value


class Get(msgspec.Struct, frozen=True):
    """One reading of a batch."""

    name: str


class Put(msgspec.Struct, frozen=True):
    """One write of a batch: replaces `if_revision`, or creates where that is None. A value, or its bytes."""

    name: str
    value: Any = UNSET
    if_revision: int | None = None
    raw: bytes | None = None


class Delete(msgspec.Struct, frozen=True):
    """One deletion of a batch."""

    name: str
    if_revision: int


Item: TypeAlias = Get | Put | Delete


class Outcome(msgspec.Struct, frozen=True):
    """What one item of a batch came to: `status` and `code` are what its own verb would have been answered.

    `sealed` is an envelope that a reading found.
    """

    name: str
    status: int
    revision: int | None = None
    code: str | None = None
    raw: msgspec.Raw = msgspec.field(name="value", default=NOTHING)
    current_revision: int | None = None
    last_revision: int | None = None
    next_revision: int | None = None
    sealed: str | None = None

    @property
    def value(self) -> Any:
        """The value that a reading found; None without one."""
        return said_value(self.raw)


def wire(item: Item) -> dict[str, Any]:
    """An item as it is sent."""
    match item:
        case Get(name):
            return {"op": "get", "name": name}
        case Delete(name, if_revision):
            return {"op": "delete", "name": name, "if_match": if_revision}
        case Put(name, value, if_revision, raw):
            condition = {"if_none_match": "*"} if if_revision is None else {"if_match": if_revision}
            said = raw_json(value, raw)
            held = {"sealed": said.decode()} if said.startswith(OPENING) else {"value": msgspec.Raw(said)}
            return {"op": "put", "name": name, **held, **condition}
