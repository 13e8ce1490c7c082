"""All that can be set, once: its name, type, default and meaning. Where a value came from is in `origins`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from steadhold.play.single import PATIENCE_MS

SECRET: Final = {"secret": True}
DAY: Final = 86_400

Days = Annotated[int, Meta(ge=60, le=36_500 * DAY)]


class Retention(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long rows are kept, in seconds; a room that comes brings its window. Orders between them: `retention.py`."""

    receipts_seconds: Annotated[Days, Meta(description="Receipts of operations.")] = 7 * DAY
    events_seconds: Annotated[Days, Meta(description="Event rows, from their publication or change on.")] = 3 * DAY
    tombstones_seconds: Annotated[Days, Meta(description="Tombstones of state and context.")] = 30 * DAY
    jobs_seconds: Annotated[Days, Meta(description="Finished jobs with their checkpoints.")] = 30 * DAY
    schedule_runs_seconds: Annotated[Days, Meta(description="Runs of schedules.")] = 90 * DAY
    deliveries_seconds: Annotated[Days, Meta(description="Deliveries of webhooks, with attempts and bodies.")] = (
        30 * DAY
    )
    inbox_keys_seconds: Annotated[
        Days, Meta(description="Keys of events, beyond what their inbox retains: so long are they known again.")
    ] = 35 * DAY


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a server runs with. Frozen: a setting that was read does not change."""

    database_url: Annotated[
        str, Meta(description="PostgreSQL to use; empty: an embedded one in `data_dir`.", extra=SECRET)
    ] = ""
    data_dir: Annotated[str, Meta(description="Folder of the embedded PostgreSQL; empty: the user's own place.")] = ""
    pg_bin: Annotated[str, Meta(description="Folder of PostgreSQL's programs to run embedded; empty: find one.")] = ""
    host: Annotated[str, Meta(min_length=1, description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="TCP port; 0 takes a free one.")] = 8750
    unix_socket: Annotated[str, Meta(description="Listen on this Unix socket instead of TCP.")] = ""
    listen_fd: Annotated[
        int, Meta(ge=-1, description="Listen on this inherited socket instead (systemd); -1: none.")
    ] = -1
    hosts: Annotated[
        tuple[str, ...],
        Meta(description="Names this server answers to in the `Host` field; empty: all. `dev` sets its own."),
    ] = ()
    public_url: Annotated[str, Meta(description="Address that clients see, for links in answers; empty: relative.")] = (
        ""
    )
    processes: Annotated[int, Meta(ge=1, le=64, description="Processes of `serve`, each on a core of its own.")] = 1
    pool_size: Annotated[int, Meta(ge=2, le=1_000, description="Connections to PostgreSQL of each process.")] = 10
    prepared_statements: Annotated[
        int, Meta(ge=0, le=10_000, description="Prepared statements per connection; 0 behind a pooler that loses them.")
    ] = 1_000
    lock_timeout_ms: Annotated[
        int,
        Meta(
            ge=1, le=PATIENCE_MS, description="Milliseconds that a request waits for a row another transaction holds."
        ),
    ] = PATIENCE_MS
    player: Annotated[str, Meta(pattern="^(lockstep|single)$", description="How calls share transactions.")] = (
        "lockstep"
    )
    background: Annotated[bool, Meta(description="Run sweeps, wake-ups and retention in this process.")] = True
    migrate: Annotated[bool, Meta(description="Bring the schema up to date when the server starts.")] = False
    sealing_key: Annotated[
        str,
        Meta(
            description="Key in base64 that seals secrets at rest; of several, the first seals and all open.",
            extra=SECRET,
        ),
    ] = ""
    webhooks_allow: Annotated[
        tuple[str, ...],
        Meta(description="Where webhooks may lead beside public addresses by https on port 443."),
    ] = ()
    dashboard: Annotated[bool, Meta(description="Serve the dashboard at `/ui`.")] = True
    dashboard_host: Annotated[
        str,
        Meta(
            description="The one host name under which the dashboard answers; empty: all, and none where it is mounted."
        ),
    ] = ""
    sinks: Annotated[
        tuple[str, ...],
        Meta(
            description="Where events may be published outside: WORKSPACE/NAME=nats://HOST:PORT/SUBJECT, one a sink.",
            extra=SECRET,
        ),
    ] = ()
    log_format: Annotated[str, Meta(pattern="^(json|text)$", description="Form of the log lines.")] = "json"
    log_level: Annotated[
        str,
        Meta(
            pattern="^(error|warning|info)$",
            description="From which level on lines are written; `info` has one for each request, event and delivery.",
        ),
    ] = "warning"
    metrics_types: Annotated[
        bool, Meta(description="Name types of jobs in `/metrics`, which whoever reaches it may read.")
    ] = False
    retention: Retention = Retention()


def describe() -> list[dict[str, Any]]:
    """Every setting: its name with dots, its default, its meaning, and whether it is a secret."""
    return [*_described(Settings, ""), *_described(Retention, "retention.")]


def _described(struct: type[msgspec.Struct], before: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for field in msgspec.structs.fields(struct):
        meta = [m for m in getattr(field.type, "__metadata__", ()) if isinstance(m, Meta)]
        if not meta:
            continue
        told = next(m.description for m in meta if m.description)
        secret = any((m.extra or {}).get("secret") for m in meta)
        found.append({"name": before + field.name, "default": field.default, "meaning": told, "secret": secret})
    return found
