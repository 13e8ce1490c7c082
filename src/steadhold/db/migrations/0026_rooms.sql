-- What is due in all rooms, with context and effects. See 0009 for how it is played.
create or replace function steadhold.due() returns table (workspace text, duty text)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set role = 'steadhold_app'
  as $$
  select * from steadhold.due_fences()
  union all select * from steadhold.due_locks()
  union all select * from steadhold.due_jobs()
  union all select * from steadhold.due_approvals()
  union all select * from steadhold.due_context()
  union all select * from steadhold.due_effects()
  union all select * from steadhold.due_schedules()
  union all select * from steadhold.due_events()
  union all select * from steadhold.due_inboxes()
  union all select * from steadhold.due_watches()
  union all select * from steadhold.due_webhooks()
  union all select * from steadhold.due_webhooks_kept()
  union all select distinct d.workspace, 'webhooks.dispatch' from steadhold.due_deliveries() d
  union all select * from steadhold.due_operations()
  union all select * from steadhold.due_access()
  union all select * from steadhold.due_state()
  union all select * from steadhold.due_blobs()
$$;

create or replace function steadhold.used(wanted text) returns table (what text, amount bigint)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select u.what, sum(u.amount)::bigint from (
    select * from steadhold.used_state(wanted)
    union all select * from steadhold.used_context(wanted)
    union all select * from steadhold.used_jobs(wanted)
    union all select * from steadhold.used_webhooks(wanted)
  ) u group by u.what
$$;
