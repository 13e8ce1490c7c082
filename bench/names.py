"""What was measured, as tables call it and in their order."""

from __future__ import annotations

from bench.floors import PEERS

STATE_CLIENTS = (1, 64, 256)
OURS = {
    "steadhold": "steadhold, HTTP, a process for each core",
    "steadhold_receipts": "the same, operation ids",
    "steadhold_1p": "steadhold, HTTP, one process",
    "steadhold_1p_receipts": "the same, operation ids",
}
STATE_SYSTEMS = {
    **OURS,
    "etcd": "etcd, gRPC transaction",
    "pgbench": "pgbench, bare UPDATE",
}
LOCK_SYSTEMS = {
    **OURS,
    "etcd": "etcd, gRPC: lease, transaction, revoke",
    "etcd_session": "etcd under a lease that is kept: transaction, delete",
    "redis_always": "Redis: SET NX PX and script, appendfsync always",
    "redis": "Redis: the same as it comes, which may lose what it answered",
}
INBOX_SYSTEMS = {
    "steadhold": "steadhold, HTTP, one inbox, a process for each core",
    "steadhold_many": "the same, 1,024 inboxes",
    "steadhold_1p": "steadhold, HTTP, one inbox, one process",
    "steadhold_1p_many": "the same, 1,024 inboxes",
    "nats": "NATS JetStream as it comes, which may lose what it answered",
    "nats_always": "NATS JetStream, sync_interval: always",
    "redis_always": "Redis: XADD, appendfsync always",
}
COMMIT_CLIENTS = (1, 64)
SNAPSHOT_SYSTEMS = {
    "state": "state, a name a client",
    "state_receipts": "state with operation ids, a name a client",
    "state_many": "state, 250 names a client",
    "pgbench": "pgbench, bare UPDATE, a row a client",
    "pgbench_many": "pgbench, bare UPDATE, 250 rows a client",
    "steadhold": "jobs, worker on PostgreSQL",
    "steadhold_http": "jobs, worker over HTTP",
}
JOB_SYSTEMS = ("steadhold", "steadhold_http", *PEERS, "pgqueuer_100")
CONTEXT_SIZES = {"1k": "1 KiB, 16 clients", "1m": "1 MiB, 4 clients", "16m": "16 MiB, 2 clients"}
