create function steadhold.due_approvals() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'approvals.none' from steadhold.workspaces w where false
$$;
revoke execute on function steadhold.due_approvals() from public;
grant execute on function steadhold.due_approvals() to steadhold_app;
