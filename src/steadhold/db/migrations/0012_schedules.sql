create function steadhold.due_schedules() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'schedules.none' from steadhold.workspaces w where false
$$;
revoke execute on function steadhold.due_schedules() from public;
grant execute on function steadhold.due_schedules() to steadhold_app;
