-- What is due in all rooms, with those of coordination. See 0009 for how it is played.

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
  union all select * from steadhold.due_operations()
  union all select * from steadhold.due_access()
  union all select * from steadhold.due_state()
  union all select * from steadhold.due_blobs()
$$;

-- In how many seconds the next instant of a schedule comes due, over all workspaces; null if none is to come.
create function steadhold.soon() returns float8
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select extract(epoch from min(n.next_at) - steadhold.clock())::float8
  from steadhold.workspaces w cross join lateral (
    select s.next_at from steadhold.schedules s
    where s.workspace = w.workspace and s.next_at is not null
    order by s.next_at limit 1
  ) n
$$;
revoke all on function steadhold.soon() from public;
grant execute on function steadhold.soon() to steadhold_app;
