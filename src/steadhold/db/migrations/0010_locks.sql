create function steadhold.due_locks() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'locks.none' from steadhold.workspaces w where false
$$;
revoke execute on function steadhold.due_locks() from public;
grant execute on function steadhold.due_locks() to steadhold_app;
