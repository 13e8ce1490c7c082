-- webhooks: endpoints, what is to be delivered to them, and each attempt at it.

-- `why`: why it is disabled; `new` until it was enabled once. `width`: how many attempts it may have at once while it is
-- let up after a pause; null: as many as `concurrency`. `free_at`: when its rate lets the next attempt begin.
create table steadhold.webhooks (
  workspace text collate "C" not null,
  id uuid not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  url text not null,
  types text[] not null,
  ordered boolean not null,
  blocks boolean not null,
  rate float8 check (rate > 0),
  concurrency int not null check (concurrency > 0),
  headers bytea,  -- sealed
  header_names text[] not null,
  retry_seconds float8[] not null,
  enabled boolean not null default false,
  why text check (enabled = (why is null)),
  deleted boolean not null default false,
  failures int not null default 0,
  failing_since timestamptz,
  paused_until timestamptz,
  pauses int not null default 0,
  width int,
  free_at timestamptz,
  last_success_at timestamptz,
  made_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (workspace, id),
  check (not (enabled and deleted))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index webhooks_past on steadhold.webhooks (workspace, changed_at) where deleted;

-- Sealed; the newest is current. One before it signs too, until its grace is over.
create table steadhold.webhook_secrets (
  workspace text collate "C" not null,
  webhook uuid not null,
  n int not null,
  sealed bytea not null,
  public text,  -- of an asymmetric one: what receivers verify by
  until timestamptz,
  primary key (workspace, webhook, n)
) with (fillfactor = 90);

-- The bytes of an event as they are signed and sent, the same for every endpoint, attempt and replay.
create table steadhold.webhook_bodies (
  workspace text collate "C" not null,
  event_id text collate "C" not null,
  aggregate_id text collate "C" not null,
  aggregate_revision bigint not null,
  type text collate "C" not null,
  body bytea not null,
  made_at timestamptz not null,
  primary key (workspace, event_id)
) with (fillfactor = 100, autovacuum_vacuum_scale_factor = 0.02);
create index webhook_bodies_past on steadhold.webhook_bodies (workspace, made_at, event_id);

-- state: 0 pending, 1 delivered, 2 exhausted, 3 cancelled, 4 skipped, 5 blocked. kind: 0 of an event, 1 replayed, 2 a ping.
-- `next_at`: when it is tried; null while it is being tried, and while an earlier one of its lane is not through.
-- `lane`: the aggregate, of an endpoint that is ordered. `skipped`: how many before it in its lane were given up.
create table steadhold.deliveries (
  workspace text collate "C" not null,
  id uuid not null,
  webhook uuid not null,
  event_id text collate "C" not null,
  kind smallint not null check (kind between 0 and 2),
  lane text collate "C",
  place bigint not null,  -- in its lane: the revision of its aggregate
  state smallint not null check (state between 0 and 5),
  attempts int not null default 0,
  tries int not null default 0,  -- attempts that were made indeed; one that found its endpoint disabled was not
  next_at timestamptz,
  announce_at timestamptz,
  skipped int not null default 0,
  replay_of uuid,
  made_at timestamptz not null,
  ended_at timestamptz,
  primary key (workspace, id),
  check ((state in (0, 5)) = (ended_at is null)),
  check (next_at is null or state = 0),
  check ((announce_at is not null) = (state = 5))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index deliveries_due on steadhold.deliveries (workspace, webhook, next_at, id) where next_at is not null;
create index deliveries_in_lane on steadhold.deliveries (workspace, webhook, lane, place, id)
  where lane is not null and state in (0, 5);
create index deliveries_of on steadhold.deliveries (workspace, webhook, made_at, id);
create index deliveries_open on steadhold.deliveries (workspace, webhook, id) where state in (0, 5);
create index deliveries_by_event on steadhold.deliveries (workspace, event_id, webhook);
create index deliveries_past on steadhold.deliveries (workspace, ended_at) where ended_at is not null;
create index deliveries_to_announce on steadhold.deliveries (workspace, announce_at) where announce_at is not null;

-- state: 0 started, 1 delivered, 2 refused, 3 unknown. Written and committed before a socket is opened.
create table steadhold.attempts (
  workspace text collate "C" not null,
  delivery uuid not null,
  n int not null,
  webhook uuid not null,
  state smallint not null default 0 check (state between 0 and 3),
  started_at timestamptz not null,
  deadline_at timestamptz not null,
  ended_at timestamptz,
  status int,
  why text,
  address text,
  request text,
  response text,
  response_body bytea check (octet_length(response_body) <= 16384),
  primary key (workspace, delivery, n),
  check ((state = 0) = (ended_at is null))
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index attempts_started on steadhold.attempts (workspace, webhook, deadline_at) where state = 0;
create index attempts_overdue on steadhold.attempts (workspace, deadline_at) where state = 0;

-- A replay of many: its cursor moves over the bodies, in their order.
create table steadhold.webhook_replays (
  workspace text collate "C" not null,
  id uuid not null,
  webhook uuid not null,
  scope text not null check (scope in ('failed', 'missing', 'all')),
  since timestamptz not null,
  until timestamptz not null,
  cursor_at timestamptz not null,
  cursor_id text collate "C" not null default '',
  looked bigint not null default 0,
  made bigint not null default 0,
  made_at timestamptz not null,
  ended_at timestamptz,
  state smallint not null default 0 check (state between 0 and 2),  -- running, done, cancelled
  primary key (workspace, id),
  check ((state = 0) = (ended_at is null))
) with (fillfactor = 70);
create index webhook_replays_running on steadhold.webhook_replays (workspace, id) where state = 0;
create index webhook_replays_past on steadhold.webhook_replays (workspace, ended_at) where ended_at is not null;

select steadhold.enclose(t) from unnest(array['steadhold.webhooks', 'steadhold.webhook_secrets',
  'steadhold.webhook_bodies', 'steadhold.deliveries', 'steadhold.attempts',
  'steadhold.webhook_replays']::regclass[]) as t;
grant select, insert, update, delete on steadhold.webhooks, steadhold.webhook_secrets, steadhold.deliveries,
  steadhold.webhook_replays to steadhold_app;
grant select, insert, delete on steadhold.webhook_bodies to steadhold_app;
grant select, insert, delete on steadhold.attempts to steadhold_app;
grant update (state, ended_at, status, why, address, request, response, response_body) on steadhold.attempts
  to steadhold_app;

create function steadhold.due_webhooks() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'webhooks.attempts' from steadhold.workspaces w
  where exists (select from steadhold.attempts a
    where a.workspace = w.workspace and a.state = 0
      and a.deadline_at <= (select steadhold.clock()) - interval '5 seconds')
  union all
  select w.workspace, 'webhooks.replays' from steadhold.workspaces w
  where exists (select from steadhold.webhook_replays r where r.workspace = w.workspace and r.state = 0)
  union all
  select w.workspace, 'webhooks.blocked' from steadhold.workspaces w
  where exists (select from steadhold.deliveries d
    where d.workspace = w.workspace and d.announce_at <= (select steadhold.clock()))
  union all
  select distinct k.workspace, 'webhooks.skipped' from steadhold.webhooks k
  where not k.enabled and exists (select from steadhold.deliveries d
    where d.workspace = k.workspace and d.webhook = k.id and d.state in (0, 5) and (d.kind < 2 or k.deleted)
      and (
        select a.state = 0 from steadhold.attempts a
        where a.workspace = k.workspace and a.delivery = d.id and a.n = d.attempts) is not true)
  union all
  select w.workspace, 'webhooks.purge' from steadhold.workspaces w
  cross join (select steadhold.clock() - make_interval(secs =>
    coalesce(nullif(current_setting('steadhold.deliveries_seconds', true), ''), '2592000')::float8) as until) past
  where exists (select from steadhold.webhook_bodies b
      where b.workspace = w.workspace and b.made_at < past.until)
    or exists (select from steadhold.webhook_replays r
      where r.workspace = w.workspace and r.ended_at < past.until)
    or exists (select from steadhold.webhooks k
      where k.workspace = w.workspace and k.deleted and k.changed_at < past.until)
$$;
revoke all on function steadhold.due_webhooks() from public;
grant execute on function steadhold.due_webhooks() to steadhold_app;

-- What the dispatcher asks, more often than everything else is asked: where is something to be sent now?
create function steadhold.due_deliveries() returns table (workspace text, webhook uuid)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select k.workspace, k.id from steadhold.webhooks k
  where not k.deleted and exists (select from steadhold.deliveries d
    where d.workspace = k.workspace and d.webhook = k.id and d.next_at <= (select steadhold.clock())
      and (d.kind = 2 or k.enabled
        and greatest(k.paused_until, k.free_at, '-infinity') <= (select steadhold.clock())))
$$;
revoke all on function steadhold.due_deliveries() from public;
grant execute on function steadhold.due_deliveries() to steadhold_app;
