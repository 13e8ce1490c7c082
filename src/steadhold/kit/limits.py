"""Every limit of the house, its unit last in its name.

Design law 10: a limit lives here, or with its room in `limits_of_rooms`, which this shows, or nowhere. ``ALL`` lists
them by lower-case name, which is what ``/v1/capabilities`` shows and what the guides speak of.
"""

from __future__ import annotations

from typing import Final

from steadhold.kit.limits_of_rooms import *

# --- the door ---------------------------------------------------------------------------------

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
"""A request's body, unless its route has a smaller limit of its own. More is 413."""

HEADER_BYTES_MAX: Final = 32 * 1024
"""All header fields of one request together. More is 431, before any of them is read."""

HEADER_FIELDS_MAX: Final = 100
"""Header fields of one request. More is 431."""

ADDRESS_BYTES_MAX: Final = 8 * 1024
"""Path and query of one request. More is 414."""

HEADER_SECONDS_MAX: Final = 10
"""How long the head of a request may take to arrive, and a new connection to say something."""

BODY_SECONDS_MAX: Final = 30
"""How long a body may take to arrive. More is 408."""

ANSWER_SECONDS_MAX: Final = 120
"""How long a client may take nothing of an answer that waits for it; then its connection is cut. It is long because the
system's own buffer, of megabytes, must first be empty by a third before anything is seen to be taken."""

UPLOAD_SECONDS_MAX: Final = 3_600
"""How long a body may take that is taken piece by piece, while it keeps coming. More is 408."""

CONNECTIONS_MAX: Final = 4_096
"""Open connections of one server process; one more is answered 503 and closed."""

CONNECTIONS_PER_ADDRESS_MAX: Final = 1_024
"""Open connections of one server process from one address; one more is closed at once."""

WAIT_SECONDS_MAX: Final = 30
"""``wait_seconds`` of a long poll."""

STREAMS_MAX: Final = 1_024
"""Bodies that one server process sends and takes piece by piece at once. One more is 503."""

STREAMS_PER_WORKSPACE_MAX: Final = 256
"""The same, of one workspace. One more is 429."""

STREAM_IDLE_SECONDS: Final = 15
"""How long a stream of events says nothing at most: then it sends a comment."""

REQUEST_SECONDS_MAX: Final = 60
"""A request's whole time, its long poll included; a plan still running then is cancelled."""

PAGE_ITEMS_MAX: Final = 1_000
"""``limit`` of a list."""

PAGE_ITEMS_DEFAULT: Final = 100
"""``limit`` of a list that does not say one."""

CURSOR_CHARS_MAX: Final = 4_096
"""A ``cursor`` of a list: keys of the longest names and paths fit."""

BATCH_ITEMS_MAX: Final = 500
"""Items of one batch (``/v1/state:batch``, ``/v1/jobs:batch``, ``:settle``, ``:heartbeat``)."""

# --- names and numbers ------------------------------------------------------------------------

ID_CHARS_MAX: Final = 200
"""An Id: locks, keys of operations, job types, stages, aggregates and the like."""

PATH_BYTES_MAX: Final = 512
"""A Path (state names, context paths, private prefixes), in bytes of UTF-8."""

FENCES_MAX: Final = 8
"""Grants that one ``Fence`` field may name."""

FENCE_NUMBER_MAX: Final = 999_999_999_999_999
"""A fence: what an integer of a structured field can say, and a double still holds exactly."""

# --- JSON -------------------------------------------------------------------------------------

JSON_DEPTH_MAX: Final = 128
"""Arrays and objects that lie within one another in a user's JSON."""

JSON_NUMBER_CHARS_MAX: Final = 1_000
"""A number of a user's JSON, as it is written: sign, digits, point and exponent."""

# --- private envelopes ------------------------------------------------------------------------

SEALED_BYTES_MAX: Final = 32 * 1024 * 1024
"""An envelope in its compact form, which is a third longer than what it keeps. A value of state keeps to its own."""

# --- mcp --------------------------------------------------------------------------------------

MCP_TEXT_CHARS_MAX: Final = 24_000
"""How much of a text one result of a tool holds; the rest is asked for by its offset."""

# --- operations -------------------------------------------------------------------------------

OPERATION_WAIT_SECONDS_MAX: Final = 5
"""How long a request waits for another in flight under the same key; then 409."""

OPERATION_AHEAD_SECONDS_MAX: Final = 300
"""How far a UUIDv7 key's own time may lie ahead of the database's clock; more is 422."""

# --- access -----------------------------------------------------------------------------------

REVOCATION_SECONDS_MAX: Final = 5
"""How late a server may learn that a key was made, revoked or entitled otherwise."""

SESSION_SECONDS_MAX: Final = 12 * 3_600
"""How long a login to the dashboard lasts."""

SESSION_FRESH_SECONDS: Final = 300
"""How long after its login a session may vote."""

FORM_BYTES_MAX: Final = 1_048_576
"""A form that the dashboard is sent."""

KEY_SCOPES_MAX: Final = 64
"""Scopes of one key."""

KEY_CHARS_MAX: Final = 256
"""A presented key; a longer one is no key of ours and is not hashed."""

KEY_SECONDS_MAX: Final = 10 * 366 * 86_400
"""``expires_in_seconds`` of a new key; without it a key lives as long as its maker."""

JOB_TYPES_ENTITLED_MAX: Final = 1_000
"""Job types that a workspace's entitlements name."""

RATE_PER_SECOND_MAX: Final = 1_000_000
"""``requests_per_second_max`` of a workspace's entitlements."""

ROTATION_GRACE_SECONDS_MAX: Final = 7 * 86_400
"""How long the old secret of a rotated key may still serve."""

ALL: Final[dict[str, int]] = {
    name.lower(): value for name, value in globals().items() if name.isupper() and isinstance(value, int)
}
"""Every limit by its lower-case name, in the order of these two files."""
