-- Inboxes: one narrow row counts each, and is locked from the number to the commit. So a reader who sees n has seen, or
-- was told to be gone, whatever is at or below n.

create table steadhold.inboxes (
  workspace text collate "C" not null,
  name text collate "C" not null,
  id uuid not null,  -- of this life: one that is deleted and made again has another
  revision bigint not null check (revision between 1 and 999999999999999),
  present boolean not null,  -- false: a tombstone, which keeps the revision
  epoch text collate "C" not null,
  incarnation bigint not null,  -- in which the epoch began
  base_sequence bigint not null default 0,  -- the last number when it began
  first_sequence bigint not null default 1,  -- below it everything is removed
  last_sequence bigint not null default 0,
  bytes bigint not null default 0,  -- of what is retained
  max_age_seconds float8,
  max_events bigint,
  max_bytes bigint,
  made_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (workspace, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- `head` are the members of the event's JSON object, its data apart: a page is put together from bytes alone.
create table steadhold.inbox_events (
  workspace text collate "C" not null,
  inbox uuid not null,
  sequence bigint not null check (sequence > 0),
  event_id text collate "C" not null,
  accepted_at timestamptz not null,
  content_type text,  -- null: JSON
  head bytea not null,
  body bytea,  -- null: there is a reference instead
  primary key (workspace, inbox, sequence)
) with (autovacuum_vacuum_insert_scale_factor = 0.2);

-- What was accepted under which key (`<source>:<key>`). It outlives the event.
create table steadhold.inbox_keys (
  workspace text collate "C" not null,
  inbox uuid not null,
  key text collate "C" not null,
  sequence bigint not null,
  event_id text collate "C" not null,
  digest bytea not null check (octet_length(digest) = 32),
  accepted_at timestamptz not null,
  primary key (workspace, inbox, key)
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
create index inbox_keys_by_age on steadhold.inbox_keys using brin (workspace, accepted_at);

-- What is gone for ever, and why. Only a prefix is removed, so a range grows at its end.
create table steadhold.inbox_gaps (
  workspace text collate "C" not null,
  inbox uuid not null,
  from_sequence bigint not null,
  to_sequence bigint not null check (to_sequence >= from_sequence),
  reason text collate "C" not null,
  at timestamptz not null,
  primary key (workspace, inbox, from_sequence)
);

-- Epochs after the first, with the last number that each began from.
create table steadhold.inbox_epochs (
  workspace text collate "C" not null,
  inbox uuid not null,
  incarnation bigint not null,
  epoch text collate "C" not null,
  base_sequence bigint not null,
  primary key (workspace, inbox, incarnation)
);

create table steadhold.inbox_consumers (
  workspace text collate "C" not null,
  inbox uuid not null,
  name text collate "C" not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  present boolean not null,
  position bigint not null check (position >= 0),  -- the last number acknowledged
  incarnation bigint not null,  -- in whose epoch
  made_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (workspace, inbox, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- When somebody looks what can go: `retention` (events), `keys`, or `gone` (all that a deleted inbox left).
create table steadhold.inbox_sweeps (
  workspace text collate "C" not null,
  inbox uuid not null,
  what text collate "C" not null check (what in ('retention', 'keys', 'gone')),
  name text collate "C" not null,
  check_at timestamptz not null,
  primary key (workspace, inbox, what)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index inbox_sweeps_to_check on steadhold.inbox_sweeps (workspace, check_at);

select steadhold.enclose('steadhold.inboxes'), steadhold.enclose('steadhold.inbox_events'),
  steadhold.enclose('steadhold.inbox_keys'), steadhold.enclose('steadhold.inbox_gaps'),
  steadhold.enclose('steadhold.inbox_epochs'), steadhold.enclose('steadhold.inbox_consumers'),
  steadhold.enclose('steadhold.inbox_sweeps');

grant select, insert, update on steadhold.inboxes to steadhold_app;
grant select, insert, delete on steadhold.inbox_events, steadhold.inbox_keys, steadhold.inbox_epochs to steadhold_app;
grant select, insert, update, delete on steadhold.inbox_gaps, steadhold.inbox_consumers, steadhold.inbox_sweeps
  to steadhold_app;

-- Which life of an inbox began at this revision, which is never issued twice.
create function steadhold.inbox_id(workspace text, name text, revision bigint) returns uuid
  language sql stable parallel safe
  as $$ select pg_catalog.md5(pg_catalog.concat_ws('/', workspace, name, revision))::uuid $$;

-- An epoch that nobody can have seen in another life of the data: an incarnation that begins twice, from one backup,
-- begins at two times.
create function steadhold.inbox_epoch(id uuid, incarnation bigint, began_at timestamptz) returns text
  language sql stable parallel safe
  as $$
  select pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
    pg_catalog.concat_ws('/', id, incarnation, extract(epoch from began_at)), 'UTF8')), 'hex'), 16)
$$;

-- Whether what was committed may be lost in a failover. `alter database … set steadhold.replication = 'synchronous'`
-- declares that it cannot.
create function steadhold.loses() returns boolean language sql stable parallel safe
  as $$ select coalesce(pg_catalog.current_setting('steadhold.replication', true), '') <> 'synchronous' $$;

-- Inboxes, with the epoch of now: one of an earlier incarnation has ended, though nobody wrote that down yet. What is
-- appended first in a new one writes it down.
create view steadhold.inboxes_now with (security_invoker = true) as
select b.workspace, b.name, b.id, b.revision, b.present, b.first_sequence, b.last_sequence, b.bytes, b.max_age_seconds,
  b.max_events, b.max_bytes, b.made_at, b.changed_at, b.incarnation < h.incarnation as rotated,
  case when b.incarnation < h.incarnation then steadhold.inbox_epoch(b.id, h.incarnation, h.began_at) else b.epoch end
    as epoch,
  case when b.incarnation < h.incarnation then b.last_sequence else b.base_sequence end as base_sequence,
  greatest(b.incarnation, h.incarnation) as incarnation
from steadhold.inboxes b cross join (
  select case when steadhold.loses() then (select h.incarnation from steadhold.house h where h.single) else 0 end
      as incarnation,
    (select h.began_at from steadhold.house h where h.single) as began_at
) h;
grant select on steadhold.inboxes_now to steadhold_app;

-- Consumers, with the position of now: of what was acknowledged in earlier epochs, what no loss has taken back.
-- Whoever asks names `inbox` and `inbox_name`, so that both rows are reached by key.
create view steadhold.inbox_consumers_now with (security_invoker = true) as
select c.workspace, c.inbox, c.name, c.revision, c.present, c.made_at, b.name as inbox_name, b.epoch, b.incarnation,
  b.first_sequence, b.last_sequence,
  case when c.incarnation >= b.incarnation then c.position else least(c.position, b.base_sequence, (
    select min(e.base_sequence) from steadhold.inbox_epochs e
    where e.workspace = c.workspace and e.inbox = c.inbox and e.incarnation > c.incarnation)) end as position
from steadhold.inbox_consumers c join steadhold.inboxes_now b on b.workspace = c.workspace and b.id = c.inbox
where b.present;
grant select on steadhold.inbox_consumers_now to steadhold_app;

create function steadhold.due_inboxes() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'inboxes.retention' from steadhold.workspaces w
  where exists (
    select from steadhold.inbox_sweeps s
    where s.workspace = w.workspace and s.check_at <= (select steadhold.clock()))
$$;
revoke all on function steadhold.due_inboxes() from public;
grant execute on function steadhold.due_inboxes() to steadhold_app;

-- What is due in all rooms, with inboxes. See 0009 for how it is played.
create or replace function steadhold.due() returns table (workspace text, duty text)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set role = 'steadhold_app'
  as $$
  select * from steadhold.due_fences()
  union all select * from steadhold.due_locks()
  union all select * from steadhold.due_jobs()
  union all select * from steadhold.due_approvals()
  union all select * from steadhold.due_schedules()
  union all select * from steadhold.due_events()
  union all select * from steadhold.due_inboxes()
  union all select * from steadhold.due_operations()
  union all select * from steadhold.due_access()
  union all select * from steadhold.due_state()
  union all select * from steadhold.due_blobs()
$$;
