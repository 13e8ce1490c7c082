-- What happened, and who waits for it.
--
-- An event row is its aggregate's history and its pending publication in one: `matched_at` is null while a relay has
-- to match it against the subscriptions. A relay selects such rows; it keeps no cursor. As long as there are no
-- subscriptions, a row is written as matched.
create table steadhold.events (
  workspace text collate "C" not null,
  aggregate_id text collate "C" not null,
  aggregate_revision bigint not null check (aggregate_revision between 1 and 999999999999999),
  event_id text collate "C",  -- null: <aggregate_id>@<aggregate_revision>, so that most rows need no second index
  schema_version int not null,
  occurred_at timestamptz not null,
  type text collate "C" not null,
  data_ref text,  -- null: the data here, by its event and digest
  data bytea check (octet_length(data) <= 65536),
  correlation_id text collate "C",
  causation_id text collate "C",
  matched_at timestamptz,
  primary key (workspace, aggregate_id, aggregate_revision)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

create unique index events_by_name on steadhold.events (workspace, event_id) where event_id is not null;
create index events_unmatched on steadhold.events (workspace, occurred_at, aggregate_id, aggregate_revision)
  where matched_at is null;
-- A job's own events stay as long as the job, so the window of the others does not look at them.
create index events_past on steadhold.events (workspace, matched_at)
  where matched_at is not null and not starts_with(aggregate_id, 'job:');

-- Aggregates of library users. Our own rooms keep a revision in rows of their own.
create table steadhold.aggregates (
  workspace text collate "C" not null,
  aggregate_id text collate "C" not null,
  aggregate_type text collate "C",
  revision bigint not null check (revision between 1 and 999999999999999),
  state text collate "C",
  owner text collate "C",  -- the grant that an append needs: `lock:<its own id>` or `job:<id>`; null: none
  primary key (workspace, aggregate_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- One row for each subject that others may wait for and that has no row of its own to lock.
create table steadhold.heads (
  workspace text collate "C" not null,
  subject text collate "C" not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  state text not null,
  open boolean not null,
  of text collate "C",  -- an effect's job
  primary key (workspace, subject)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index heads_of on steadhold.heads (workspace, of, subject) where of is not null;

-- A job waits for one thing at a time. `due_at` is its bound until what it waits for happens.
create table steadhold.waits (
  workspace text collate "C" not null,
  job_id uuid not null,
  subject text collate "C",  -- null: nothing but time
  stage text collate "C" not null,
  until timestamptz,
  due_at timestamptz,
  happened boolean not null default false,
  what bytea not null,
  primary key (workspace, job_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index waits_by_subject on steadhold.waits (workspace, subject) where subject is not null;
create index waits_due on steadhold.waits (workspace, due_at) where due_at is not null;

select steadhold.enclose(t) from unnest(array[
  'steadhold.events', 'steadhold.aggregates', 'steadhold.heads', 'steadhold.waits']::regclass[]) as t;

-- History is not edited: the application may say that a relay has matched a row, and nothing else of it.
grant select, insert on steadhold.events to steadhold_app;
grant update (matched_at) on steadhold.events to steadhold_app;
grant select, insert, update (revision, state) on steadhold.aggregates to steadhold_app;
grant select, insert, update, delete on steadhold.heads, steadhold.waits to steadhold_app;

-- What is past its window goes through here alone: matched, older than told, never a job's own.
create function steadhold.purge_events(of_workspace text, kept_seconds float8, batch bigint) returns bigint
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
  with old as materialized (
    select e.aggregate_id, e.aggregate_revision from steadhold.events e
    where e.workspace = of_workspace and of_workspace = current_setting('steadhold.workspace', true)
      and e.matched_at < (select steadhold.clock()) - make_interval(secs => greatest(kept_seconds, 3600))
      and not starts_with(e.aggregate_id, 'job:')
    order by e.matched_at limit batch for update skip locked
  ), deleted as (
    delete from steadhold.events e using old
    where e.workspace = of_workspace and e.aggregate_id = old.aggregate_id
      and e.aggregate_revision = old.aggregate_revision
    returning 1
  )
  select count(*) from deleted
$$;
revoke all on function steadhold.purge_events(text, float8, bigint) from public;
grant execute on function steadhold.purge_events(text, float8, bigint) to steadhold_app;

-- A job's own go with the job: those of jobs alone, and only what a relay has matched.
create function steadhold.forget_events(of_workspace text, aggregates text[]) returns bigint
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
  with deleted as (
    delete from steadhold.events e
    where e.workspace = of_workspace and of_workspace = current_setting('steadhold.workspace', true)
      and e.aggregate_id = any(aggregates) and starts_with(e.aggregate_id, 'job:') and e.matched_at is not null
    returning 1
  )
  select count(*) from deleted
$$;
revoke all on function steadhold.forget_events(text, text[]) from public;
grant execute on function steadhold.forget_events(text, text[]) to steadhold_app;

create function steadhold.due_events() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'events.waits' from steadhold.workspaces w
  where exists (select from steadhold.waits t
    where t.workspace = w.workspace and t.due_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'events.purge' from steadhold.workspaces w
  where exists (select from steadhold.events e
    where e.workspace = w.workspace and not starts_with(e.aggregate_id, 'job:')
      and e.matched_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.events_seconds', true), ''), '259200')::float8))
$$;
revoke all on function steadhold.due_events() from public;
grant execute on function steadhold.due_events() to steadhold_app;
