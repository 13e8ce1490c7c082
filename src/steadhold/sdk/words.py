"""The words that requests and answers of all rooms share."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote, urlencode

import msgspec

from steadhold.kit import exact, fields, ids
from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.kit.sealed import OPENING
from steadhold.sdk.errors import BadAnswer
from steadhold.sdk.grammar import Give, Got, Identity, Script, Send, Stream

T = TypeVar("T")

NOTHING: Final = msgspec.Raw()
"""User JSON that is not there; null is there."""

WAIT_SECONDS: Final = 25.0
"""How long one request of a long wait stays open: below what proxies usually allow."""


class Unset:
    """No value at all; None is JSON's null."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


def an_id(name: str) -> str:
    """The name of what is made, if it can be one.

    Raises:
        ValueError: it is no Id. A server could only say that no address is like this.
    """
    if fault := ids.id_fault(name):
        raise ValueError(f"{name!r} is no Id. {fault}")
    return name


def at(*segments: str, path: str | None = None, **query: str | float | datetime | None) -> str:
    """A target under /v1: segments are ids, `path` keeps its slashes, parameters that are None are left out."""
    parts = [quote(segment, safe=":~@") for segment in segments]
    if path is not None:
        parts.append(quote(path, safe="/:~@"))
    kept = {name: _parameter(value) for name, value in query.items() if value is not None}
    return f"/v1/{'/'.join(parts)}" + (f"?{urlencode(kept, quote_via=quote)}" if kept else "")


def _parameter(value: str | float | datetime) -> str:
    if isinstance(value, datetime):
        return instant(value)
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def change(
    method: str,
    target: str,
    body: Any = None,
    *,
    operation_id: str | None = None,
    identity: Identity = "receipt",
    fences: Sequence[FenceRef] = (),
    headers: Mapping[str, str] | None = None,
    wait_seconds: float = 0.0,
    give_up_seconds: float | None = None,
    led_to: str = "",
) -> Send:
    """A request that changes something, under an operation id that is made here unless there is one.

    `body` are bytes of JSON, or what msgspec makes JSON of.

    Raises:
        ValueError: `operation_id` is no id.
    """
    key = ids.new_id() if operation_id is None else operation_id
    if fault := ids.id_fault(key):
        raise ValueError(f"operation_id: {fault}")
    said = {"idempotency-key": key, **(headers or {}), **relying(fences)}
    if body is not None:
        said.setdefault("content-type", "application/json")
        body = body if isinstance(body, bytes) else as_json(body)
    return Send(method, target, said, body, identity, key, wait_seconds, give_up_seconds, led_to=led_to)


def made(send: Send, status: int = 204) -> Script[None]:
    """Send a change whose answer tells nothing but that it was made.

    Raises:
        BadAnswer: it is another answer than a server gives to that.
    """
    got = yield send
    if got.status != status:
        raise BadAnswer(f"The answer has status {got.status}, and {status} would say that it was done.")


def removed(target: str, if_revision: int, fences: Sequence[FenceRef], operation_id: str | None) -> Script[None]:
    """DELETE what has a revision, where the answer tells nothing else."""
    headers = if_match(if_revision)
    return made(change("DELETE", target, operation_id=operation_id, fences=fences, headers=headers))


def guarded(
    target: str,
    body: Any,
    into: type[T],
    fences: Sequence[FenceRef],
    operation_id: str | None,
    if_revision: int | None = None,
) -> Script[T]:
    """POST what may be asked under fences, and under a condition; what the answer says."""
    headers = if_match(if_revision)
    return read((yield change("POST", target, body, operation_id=operation_id, fences=fences, headers=headers)), into)


def relying(fences: Sequence[FenceRef]) -> dict[str, str]:
    """The field that names grants which have to be current, if there are any."""
    return {"fence": fields.write_fences(fences)} if fences else {}


def if_match(revision: int | None) -> dict[str, str]:
    """The condition that a resource has a revision, if one is given."""
    return {} if revision is None else {"if-match": fields.etag(revision)}


def put_if(revision: int | None) -> dict[str, str]:
    """The condition of a PUT: it replaces a revision, or creates where that is None."""
    return if_match(revision) or {"if-none-match": "*"}


def raw_json(value: JsonValue | Unset, raw: bytes | None) -> bytes:
    """The bytes of a JSON that came as a value or as bytes.

    Raises:
        TypeError: there are both or none of them, or no JSON says the value.
        ValueError: the value breaks a rule of exact JSON.
    """
    if isinstance(value, Unset):
        if raw is None:
            raise TypeError("Give a value, or its JSON as raw=bytes.")
        return raw
    if raw is not None:
        raise TypeError("Give a value or raw=bytes, not both.")
    return exact.encode(value)


def members(**named: Any) -> dict[str, Any]:
    """A JSON object of what is given: members that are None are left out."""
    return {name: value for name, value in named.items() if value is not None}


def as_json(value: Any) -> bytes:
    """What a verb says, as JSON.

    Raises:
        ValueError: a number in it is not finite. JSON would say null, and that means something else.
    """
    _finite("a number", value)
    return msgspec.json.encode(value)


def _finite(name: str, value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value}: give a finite number, or None for none.")
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            _finite(key, one)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in cast("Iterable[Any]", value):
            _finite(name, one)


class Exact(msgspec.Struct, frozen=True):
    """JSON as the bytes that were stored, and the value they say: integers as int, fractions as Decimal."""

    raw: bytes

    @property
    def value(self) -> Any:
        """The value of the bytes, read anew each time.

        Raises:
            ValueError: they are a private envelope, or an exponent is beyond what a Decimal holds; read `raw`.
        """
        if self.raw.startswith(OPENING):
            raise ValueError("These bytes are a private envelope: read them with client.private(keyring).")
        return exact.decode(self.raw)


def verified(what: str, got: Got) -> bytes:
    """The SHA-256 of an answer's bytes, once it is the one that the server sent with them.

    Raises:
        BadAnswer: it is not.
    """
    digest = hashlib.sha256(got.body).digest()
    told = fields.digests(got.headers.get("repr-digest"))
    if isinstance(told, fields.FieldFault) or told.get("sha-256", digest) != digest:
        raise BadAnswer(f"{what} that arrived is not what the server sent: its digest differs.")
    return digest


def read(got: Got, into: type[T]) -> T:
    """What an answer says, as a Struct; members that it does not know are passed over.

    Raises:
        BadAnswer: it is no JSON of that shape.
    """
    try:
        return msgspec.json.decode(got.body, type=into)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"The answer is no {into.__name__}: {error}. Is the server of another version?") from error


def pages(target: Callable[[str | None], str], item: type[T]) -> Stream[T]:
    """Every item of a list, page by page; `target` makes the address of the page at a cursor."""
    page: type[Any] = msgspec.defstruct("Page", [("items", list[item]), ("next_cursor", str | None)])
    cursor: str | None = None
    while True:
        found = read((yield Send("GET", target(cursor))), page)
        for each in found.items:
            yield Give(each)
        cursor = found.next_cursor
        if cursor is None:
            return


def said_value(raw: msgspec.Raw) -> Any:
    """The value that a member says, or None where the member is missing."""
    said = bytes(raw)
    return exact.decode(said) if said else None


def instant(moment: datetime) -> str:
    """A moment as the server reads it: RFC 3339 in UTC.

    Raises:
        ValueError: it has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone: say which moment is meant, as in datetime.now(UTC).")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
