-- Inboxes as what a job waits for, and as what a schedule sends to.

-- A job that waits for an inbox has looked at it up to `seen`, in `epoch`.
alter table steadhold.waits add column inbox text collate "C", add column epoch text collate "C", add column seen bigint;
create index waits_by_inbox on steadhold.waits (workspace, inbox, seen) where inbox is not null;

-- Up to where all have looked who wait for an inbox. The counter of the inbox says whether there is more, so whoever
-- appends writes nothing for them, and what was appended, however, cannot be missed. `seen` -1: somebody looks anew.
-- `check_at`: then it is looked whether anybody waits still, for who waits no more says nothing.
create table steadhold.inbox_watches (
  workspace text collate "C" not null,
  inbox text collate "C" not null,
  epoch text collate "C" not null,
  seen bigint not null check (seen >= -1),
  check_at timestamptz not null default steadhold.clock() + interval '15 minutes',
  primary key (workspace, inbox)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
select steadhold.enclose('steadhold.inbox_watches');
grant select, insert, update, delete on steadhold.inbox_watches to steadhold_app;

-- Which workspaces have jobs that wait for an inbox with something new, or for one that is gone or begins anew. Each
-- inbox is looked at by its key (`offset 0`), however many others there are.
create function steadhold.due_watches() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'jobs.inboxes' from steadhold.workspaces w
  where exists (
    select from steadhold.inbox_watches x
    left join lateral (
      select b.epoch, b.last_sequence from steadhold.inboxes_now b
      where b.workspace = x.workspace and b.name = x.inbox and b.present offset 0) b on true
    where x.workspace = w.workspace and (b.epoch is distinct from x.epoch or b.last_sequence > x.seen
      or x.check_at <= (select steadhold.clock())))
$$;
revoke all on function steadhold.due_watches() from public;
grant execute on function steadhold.due_watches() to steadhold_app;

-- A run may be an event on its way to an inbox (outcome 4) where others are a job.
alter table steadhold.schedule_runs add column inbox text collate "C", add column event_id text collate "C";
alter table steadhold.schedule_runs
  drop constraint schedule_runs_outcome_check, drop constraint schedule_runs_check1, drop constraint schedule_runs_check2,
  add constraint schedule_runs_outcome check (outcome between 0 and 4),
  add constraint schedule_runs_reason check ((outcome in (2, 3)) = (reason is not null)),
  add constraint schedule_runs_job check (outcome <> 0 or (job is not null and last_at = scheduled_at and count = 1)),
  add constraint schedule_runs_event check ((outcome = 4) = (event_id is not null) and (outcome = 4) = (inbox is not null));

-- What is told of a consumer is numbered by `told`; `leased` is the lease that was told last and has not ended since.
alter table steadhold.inbox_consumers add column told bigint not null default 0, add column leased bigint;
