-- Which trace a change belongs to, so that what comes of it is told as part of that: a traceparent of W3C, or null. A
-- job's is in its own row (`jobs.trace`, which its submitter may also say), and its events are not written with it again.
alter table steadhold.events add column trace text collate "C";
alter table steadhold.webhook_bodies add column trace text collate "C";

-- The trace of a job's event, for whoever passes it on. Invoker's rights: who asks is confined to a workspace.
create function steadhold.trace_of(of_workspace text, of_aggregate text) returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select j.trace from steadhold.jobs j where j.workspace = of_workspace and j.id =
    case when of_aggregate ~ '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substr(of_aggregate, 5)::uuid end
$$;
revoke all on function steadhold.trace_of(text, text) from public;
grant execute on function steadhold.trace_of(text, text) to steadhold_app;

-- What failed lately, and what waits to be tried again, by class: read when metrics are. Only what fails is in them.
create index jobs_failed_lately on steadhold.jobs (workspace, ended_at) where state = 4;
create index jobs_to_retry on steadhold.jobs (workspace, error_class) where state = 0 and error_class is not null;

-- The oldest job of each type that can be claimed now: one step of the index a type and priority, however many wait.
create function steadhold.oldest_ready(of_workspace text, most bigint) returns table (type text, run_at timestamptz)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  with recursive head as (
    (select j.type, j.priority, j.run_at from steadhold.jobs j where j.workspace = of_workspace and j.state = 0
     order by j.type, j.priority, j.run_at limit 1)
    union all
    select n.* from head cross join lateral (
      select j.type, j.priority, j.run_at from steadhold.jobs j
      where j.workspace = of_workspace and j.state = 0 and (j.type, j.priority) > (head.type, head.priority)
      order by j.type, j.priority, j.run_at limit 1) n
  )
  select of_any.type, min(of_any.run_at) from (select * from head limit most) of_any group by of_any.type
$$;
revoke all on function steadhold.oldest_ready(text, bigint) from public;

-- How jobs stand in all workspaces together, for metrics: a name, what it is of, a number. Whoever asks hears the same.
-- Of a workspace at most `most` rows are counted of each thing, so that it never takes long. Names of types are told only
-- where `types` are wanted (else they are together `all`), at most so many of the fullest: the rest is together `other`.
-- No index knows the type of a job that runs or waits, so that of those fewer are counted then.
create function steadhold.job_gauges(most bigint, types bigint) returns table (name text, of text, value float8)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set jit = off
  as $$
  with now as materialized (
    select steadhold.clock() as at
  ), counted as materialized (
    select case when q.run_at <= (select at from now) then 'jobs_ready' else 'jobs_scheduled' end as name, q.type,
      count(*)::float8 as value
    from steadhold.workspaces w cross join lateral (
      select j.type, j.run_at from steadhold.jobs j where j.workspace = w.workspace and j.state = 0 limit most) q
    group by 1, 2
    union all
    select case a.state when 1 then 'jobs_running' else 'jobs_waiting' end, '', count(*)
    from steadhold.workspaces w cross join lateral (
      (select j.state from steadhold.jobs j where j.workspace = w.workspace and j.state = 1 limit most)
      union all
      (select j.state from steadhold.jobs j where j.workspace = w.workspace and j.state = 2 limit most)) a
    where types = 0 group by a.state
    union all
    select case a.state when 1 then 'jobs_running' else 'jobs_waiting' end, a.type, count(*)
    from steadhold.workspaces w cross join lateral (
      (select j.type, j.state from steadhold.jobs j where j.workspace = w.workspace and j.state = 1 limit most / 5)
      union all
      (select j.type, j.state from steadhold.jobs j where j.workspace = w.workspace and j.state = 2 limit most / 5)) a
    where types > 0 group by 1, 2
    union all
    select 'running_age_seconds', r.type, greatest(extract(epoch from (select at from now) - min(r.claimed_at)), 0)
    from steadhold.workspaces w cross join lateral (
      select j.type, j.claimed_at from steadhold.jobs j where j.workspace = w.workspace and j.state = 1 limit most / 5) r
    group by r.type
    union all
    select 'queue_age_seconds', o.type, greatest(extract(epoch from (select at from now) - min(o.run_at)), 0)
    from steadhold.workspaces w cross join lateral steadhold.oldest_ready(w.workspace, 1000) o group by o.type
  ), named as materialized (
    select c.type from counted c where not c.name like '%seconds'
    group by c.type order by sum(c.value) desc, c.type limit types
  ), told as materialized (
    select c.name, c.value,
      case when types = 0 then 'all' when c.type in (select n.type from named n) then c.type else 'other' end as of
    from counted c
  )
  select t.name, t.of, case when t.name like '%seconds' then max(t.value) else sum(t.value) end
  from told t group by t.name, t.of
  union all
  select 'jobs_failed_lately', f.class, count(*)
  from steadhold.workspaces w cross join lateral (
    select coalesce(j.error_class, 'none') as class from steadhold.jobs j
    where j.workspace = w.workspace and j.state = 4 and j.ended_at > (select at from now) - interval '15 minutes'
    limit most) f
  group by f.class
  union all
  select 'jobs_to_retry', r.error_class, count(*)
  from steadhold.workspaces w cross join lateral (
    select j.error_class from steadhold.jobs j
    where j.workspace = w.workspace and j.state = 0 and j.error_class is not null limit most) r
  group by r.error_class
$$;
revoke all on function steadhold.job_gauges(bigint, bigint) from public;
grant execute on function steadhold.job_gauges(bigint, bigint) to steadhold_app;

-- How everything else stands, in the same way. Of other sessions this shows what the owner of the schema may see of them:
-- all, where it is a member of pg_monitor, else those of its own role.
create function steadhold.house_gauges(most bigint) returns table (name text, of text, value float8)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set jit = off
  as $$
  with now as materialized (
    select steadhold.clock() as at
  ), late as materialized (
    select s.next_at from steadhold.workspaces w cross join lateral (
      select s.next_at from steadhold.schedules s
      where s.workspace = w.workspace and s.next_at < (select at from now) order by s.next_at limit most) s
  ), needed as materialized (
    select e.needed_since from steadhold.workspaces w cross join lateral (
      select e.needed_since from steadhold.effects e
      where e.workspace = w.workspace and e.reconciliation = 'needed' order by e.needed_since limit most) e
  ), endpoints as materialized (
    select k.workspace, k.id, k.enabled, k.why, k.failures, greatest(k.paused_until, k.free_at) as not_before,
      k.paused_until > (select at from now) as paused
    from steadhold.workspaces w cross join lateral (
      select * from steadhold.webhooks k where k.workspace = w.workspace and not k.deleted limit most) k
  ), due as materialized (
    select (select min(d.next_at) from steadhold.deliveries d
      where d.workspace = k.workspace and d.webhook = k.id and d.next_at <= (select at from now)) as since
    from endpoints k where k.enabled and coalesce(k.not_before, '-infinity') <= (select at from now)
  ), sessions as materialized (
    select a.backend_xmin, a.xact_start from pg_stat_activity a
    where a.backend_xmin is not null and a.pid <> pg_backend_pid()
  )
  select 'schedules_late', '', count(*)::float8 from late
    where next_at < (select at from now) - interval '5 seconds'
  union all
  select 'schedules_late_seconds', '', coalesce(extract(epoch from (select at from now) - min(next_at)), 0) from late
  union all
  select 'effects_to_reconcile', '', count(*) from needed
  union all
  select 'effects_to_reconcile_seconds', '',
    coalesce(extract(epoch from (select at from now) - min(needed_since)), 0) from needed
  union all
  select 'effects_under_way', '', count(*) from steadhold.workspaces w cross join lateral (
    select from steadhold.effects e where e.workspace = w.workspace and e.due_at is not null limit most) e
  union all
  select 'webhooks', u.of, (select count(*) from endpoints k where case u.of
    when 'paused' then k.enabled and k.paused when 'failing' then k.enabled and k.failures > 0 and k.paused is not true
    else k.why in ('failing', 'gone') end)
  from unnest(array['paused', 'failing', 'given_up']) as u(of)
  union all
  select 'deliveries_due_seconds', '', coalesce(extract(epoch from (select at from now) - min(since)), 0) from due
  union all
  select 'deliveries_blocked', '', count(*) from steadhold.workspaces w cross join lateral (
    select from steadhold.deliveries d where d.workspace = w.workspace and d.announce_at is not null limit most) d
  union all
  select f.name, '', f.value from steadhold.event_flow() e cross join lateral (values
    ('events_unmatched_seconds', e.unmatched_seconds), ('publications_pending_seconds', e.pending_seconds),
    ('publications_pending', e.pending), ('publications_blocked', e.blocked), ('publications_parked', e.parked)
  ) as f(name, value)
  union all
  select 'oldest_snapshot_transactions', '', coalesce(max(age(x.xmin)), 0) from (
    select backend_xmin as xmin from sessions
    union all select s.xmin from pg_replication_slots s where s.xmin is not null
    union all select s.catalog_xmin from pg_replication_slots s where s.catalog_xmin is not null
    union all select p.transaction from pg_prepared_xacts p) x
  union all
  select 'oldest_transaction_seconds', '',
    greatest(coalesce(extract(epoch from (select at from now) - min(xact_start)), 0), 0)
  from sessions
$$;
revoke all on function steadhold.house_gauges(bigint) from public;
grant execute on function steadhold.house_gauges(bigint) to steadhold_app;
