-- jobs: one row a job, which moves a few times and then rests; who holds it is a grant (fences), what it
-- has finished are checkpoints, which nobody changes.

create table steadhold.job_configurations (
  workspace text collate "C" not null,
  type text collate "C" not null,
  revision bigint not null check (revision > 0),
  body bytea not null,
  written_at timestamptz not null,
  look_at timestamptz,  -- when to look whether a job is still held to it; null: it is the current one
  primary key (workspace, type, revision)
);
create index job_configurations_past on steadhold.job_configurations (workspace, look_at) where look_at is not null;
select steadhold.enclose('steadhold.job_configurations');
grant select, insert, update (look_at), delete on steadhold.job_configurations to steadhold_app;

-- The current revision of a type, and the limits that hold for jobs of every revision.
create table steadhold.job_types (
  workspace text collate "C" not null,
  type text collate "C" not null,
  revision bigint not null check (revision > 0),
  type_max int check (type_max > 0),
  key_max int not null check (key_max > 0),
  changed_at timestamptz not null,
  primary key (workspace, type)
) with (fillfactor = 80);
select steadhold.enclose('steadhold.job_types');
grant select, insert, update (revision, type_max, key_max, changed_at) on steadhold.job_types to steadhold_app;

-- state: 0 accepted, 1 running, 2 waiting, 3 completed, 4 failed, 5 cancelled.
create table steadhold.jobs (
  workspace text collate "C" not null,
  id uuid not null,
  root uuid not null,
  retry_of uuid,
  type text collate "C" not null,
  configuration_revision bigint not null,
  state smallint not null default 0 check (state between 0 and 5),
  priority smallint not null check (priority between 0 and 9),
  revision bigint not null check (revision > 0),
  fence bigint not null default 0,
  settled_fence bigint,
  settled_state smallint,
  attempt int not null default 0 check (attempt >= 0),
  attempts_max int not null,
  lapses int not null default 0,
  stages int not null default 0,
  lease_seconds float8 not null,
  leased_seconds float8,
  timeout_seconds float8,
  kept_seconds float8,  -- once it has ended; null: as long as the house keeps jobs
  run_at timestamptz not null,
  created_at timestamptz not null,
  claimed_at timestamptz,
  timeout_at timestamptz,
  deadline_at timestamptz,
  evidence_not_before timestamptz,
  evidence_at timestamptz,
  cancel_requested_at timestamptz,
  ended_at timestamptz,
  forget_at timestamptz,
  slotted boolean not null default false,
  awaited boolean not null default false,  -- some job has waited for its end
  versions text[],
  unique_key text collate "C",
  concurrency_key text collate "C",
  tags text collate "C",
  correlation_id text collate "C",
  trace text collate "C",
  worker text collate "C",
  cancel_by text collate "C",
  cancel_reason text collate "C",
  input_digest bytea not null,
  input bytea,
  input_ref text collate "C",
  inputs bytea,
  awaits bytea,
  progress bytea,
  settled_digest bytea,
  result bytea,
  result_ref text collate "C",
  coverage bytea,
  error_code text collate "C",
  error_message text,
  error_class text collate "C",
  primary key (workspace, id),
  check ((state >= 3) = (ended_at is not null)),
  check ((state = 3) = (result_ref is not null)),
  check (state <> 4 or error_code is not null),
  check ((state = 2) = (awaits is not null))
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0
);

-- What a claim walks. A finished job leaves it.
create index jobs_ready on steadhold.jobs (workspace, type, priority, run_at, id) where state = 0;
create index jobs_overdue on steadhold.jobs (workspace, deadline_at) where state = 0 and deadline_at is not null;
create unique index jobs_live_key on steadhold.jobs (workspace, unique_key) where unique_key is not null and state < 3;
create index jobs_active on steadhold.jobs (workspace, state, id) where state in (1, 2);
create index jobs_failed on steadhold.jobs (workspace, id) where state = 4;
create index jobs_ended on steadhold.jobs (workspace, ended_at) where ended_at is not null and forget_at is null;
create index jobs_forgettable on steadhold.jobs (workspace, forget_at) where forget_at is not null;
create index jobs_retries on steadhold.jobs (workspace, root) where retry_of is not null;
select steadhold.enclose('steadhold.jobs');
grant select, insert, update, delete on steadhold.jobs to steadhold_app;

create table steadhold.job_tags (
  workspace text collate "C" not null,
  tag text collate "C" not null,
  id uuid not null,
  primary key (workspace, tag, id)
);
select steadhold.enclose('steadhold.job_tags');
grant select, insert, delete on steadhold.job_tags to steadhold_app;

-- A retry finds the stages of the jobs before it, since all of them have one root.
create table steadhold.checkpoints (
  workspace text collate "C" not null,
  root uuid not null,
  stage text collate "C" not null,
  job uuid not null,
  fence bigint not null,
  digest bytea not null,
  input_digest bytea,
  result bytea,
  result_ref text collate "C" not null,
  committed_at timestamptz not null,
  primary key (workspace, root, stage)
) with (autovacuum_vacuum_cost_delay = 0);
select steadhold.enclose('steadhold.checkpoints');
grant select, insert, delete on steadhold.checkpoints to steadhold_app;

create table steadhold.job_signals (
  workspace text collate "C" not null,
  job uuid not null,
  n int not null,
  name text collate "C" not null,
  data bytea,
  sent_at timestamptz not null,
  primary key (workspace, job, n)
) with (autovacuum_vacuum_cost_delay = 0);
select steadhold.enclose('steadhold.job_signals');
grant select, insert, delete on steadhold.job_signals to steadhold_app;

-- A running job holds a row under each limit it counts towards, so that none is ever counted wrong.
create table steadhold.job_slots (
  workspace text collate "C" not null,
  key text collate "C" not null,
  job uuid not null,
  fence bigint not null,
  primary key (workspace, key, job, fence)
) with (autovacuum_vacuum_cost_delay = 0);
create index job_slots_held on steadhold.job_slots (workspace, job);
select steadhold.enclose('steadhold.job_slots');
grant select, insert, delete on steadhold.job_slots to steadhold_app;

-- Claims that count the slots of one key take turns at its row.
create table steadhold.job_slot_turns (
  workspace text collate "C" not null,
  key text collate "C" not null,
  turned_at timestamptz not null,
  primary key (workspace, key)
) with (fillfactor = 50, autovacuum_vacuum_cost_delay = 0);
select steadhold.enclose('steadhold.job_slot_turns');
grant select, insert, update (turned_at), delete on steadhold.job_slot_turns to steadhold_app;

-- What a claim took under its key, so that the same claim takes nothing else.
create table steadhold.job_claims (
  workspace text collate "C" not null,
  key text collate "C" not null,
  jobs uuid[] not null,
  fences bigint[] not null,
  claimed_at timestamptz not null,
  primary key (workspace, key)
) with (fillfactor = 70, autovacuum_vacuum_cost_delay = 0);
create index job_claims_old on steadhold.job_claims (workspace, claimed_at);
select steadhold.enclose('steadhold.job_claims');
grant select, insert, update (jobs, fences), delete on steadhold.job_claims to steadhold_app;

-- Which workspaces have a job past its deadline that nobody runs, or rows past their window. (Leases that
-- ran out are announced by fences, waits by events.)
create function steadhold.due_jobs() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'jobs.deadlines' from steadhold.workspaces w
  where exists (
    select from steadhold.jobs j
    where j.workspace = w.workspace and j.state = 0 and j.deadline_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'jobs.retention' from steadhold.workspaces w
  where exists (
    select from steadhold.jobs j
    where j.workspace = w.workspace and j.forget_at <= (select steadhold.clock()))
  or exists (
    select from steadhold.jobs j
    where j.workspace = w.workspace and j.forget_at is null
      and j.ended_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.jobs_seconds', true), ''), '2592000')::float8))
  or exists (
    select from steadhold.job_configurations c
    where c.workspace = w.workspace and c.look_at <= (select steadhold.clock()))
  or exists (
    select from steadhold.job_claims c
    where c.workspace = w.workspace and c.claimed_at < (select steadhold.clock()) - interval '7 days')
$$;
revoke all on function steadhold.due_jobs() from public;
grant execute on function steadhold.due_jobs() to steadhold_app;

-- What a workspace's jobs use of its entitlements.
create function steadhold.used_jobs(workspace text) returns table (what text, amount bigint)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select 'jobs_queued', count(*) from steadhold.jobs j where j.workspace = $1 and j.state = 0
  union all
  select 'jobs_running', count(*) from steadhold.jobs j where j.workspace = $1 and j.state = 1
$$;
revoke all on function steadhold.used_jobs(text) from public;
grant execute on function steadhold.used_jobs(text) to steadhold_app;
