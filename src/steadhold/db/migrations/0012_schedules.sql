-- schedules: one row says what is to run and up to where its instants are settled; one row a run says what became
-- of an instant, or of a range of instants that did not run.

-- `cursor`: every instant up to here is settled, for ever, also once the schedule is deleted and made again.
-- `next_at`: the first instant behind it; null where there is none, or none may run (paused, deleted).
-- `range_at`: the row of skipped instants that was written last and may still grow. `told`: the last event's number.
create table steadhold.schedules (
  workspace text collate "C" not null,
  id text collate "C" not null,
  revision bigint not null check (revision > 0),
  spec bytea not null,
  since timestamptz not null,
  cursor timestamptz not null,
  next_at timestamptz,
  range_at timestamptz,
  manual_at timestamptz,
  told bigint not null default 0,
  tables text collate "C" not null,
  pruned_to timestamptz,
  deleted boolean not null default false,
  made_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (workspace, id),
  check (not deleted or next_at is null)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create index schedules_next on steadhold.schedules (workspace, next_at) where next_at is not null;
create index schedules_planned on steadhold.schedules (workspace, tables, id) where next_at is not null;
select steadhold.enclose('steadhold.schedules');
grant select, insert, update on steadhold.schedules to steadhold_app;

-- outcome: 0 it has a job, 1 coalesced, 2 skipped, 3 failed. A row without a job may stand for `count` instants, from
-- `scheduled_at` to `last_at`. `live`: its job was not seen to have ended.
create table steadhold.schedule_runs (
  workspace text collate "C" not null,
  schedule text collate "C" not null,
  scheduled_at timestamptz not null,
  manual boolean not null,
  last_at timestamptz not null,
  count bigint not null check (count > 0),
  local text collate "C" not null,
  window_start timestamptz not null,
  covers bytea not null default '\x',
  trigger_id uuid not null,
  operation_id text collate "C",
  revision bigint not null,
  outcome smallint not null check (outcome between 0 and 3),
  reason text collate "C",
  job uuid,
  again int not null default 0,
  live boolean not null,
  recorded_at timestamptz not null,
  primary key (workspace, schedule, scheduled_at, manual),
  check (last_at >= scheduled_at),
  check ((outcome >= 2) = (reason is not null)),
  check (outcome <> 0 or (job is not null and last_at = scheduled_at and count = 1)),
  check (not live or outcome = 0)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
);
create index schedule_runs_live on steadhold.schedule_runs (workspace, schedule, scheduled_at) where live;
create unique index schedule_runs_asked on steadhold.schedule_runs (workspace, schedule, operation_id) where manual;
create index schedule_runs_recorded on steadhold.schedule_runs (workspace, recorded_at);
select steadhold.enclose('steadhold.schedule_runs');
grant select, insert, delete on steadhold.schedule_runs to steadhold_app;
grant update (last_at, count, covers, window_start, outcome, job, again, live) on steadhold.schedule_runs
  to steadhold_app;

-- Which workspaces have an instant that is due, runs past their window, or next instants that older zone tables gave.
create or replace function steadhold.due_schedules() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'schedules.tick' from steadhold.workspaces w
  where exists (
    select from steadhold.schedules s
    where s.workspace = w.workspace and s.next_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'schedules.retention' from steadhold.workspaces w
  where exists (
    select from steadhold.schedule_runs r
    where r.workspace = w.workspace and r.recorded_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.schedule_runs_seconds', true), ''), '7776000')::float8)
      and r.last_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.schedule_runs_seconds', true), ''), '7776000')::float8)
      and not (r.live and exists (
        select from steadhold.jobs j where j.workspace = r.workspace and j.id = r.job and j.state < 3)))
  union all
  select w.workspace, 'schedules.tables' from steadhold.workspaces w
  where exists (
    select from steadhold.schedules s
    where s.workspace = w.workspace and s.next_at is not null
      and s.tables < nullif(current_setting('steadhold.zone_tables', true), ''))
$$;
revoke all on function steadhold.due_schedules() from public;
grant execute on function steadhold.due_schedules() to steadhold_app;
