-- What is due in all rooms, asked once a tick; and what a workspace uses of its entitlements.
--
-- A later room replaces both functions with its own part added.
-- It takes the application's role itself: the rooms' parts open their door to that role, and a loop that forgot to
-- take it would see nothing due, which nobody would notice.

create or replace function steadhold.due() returns table (workspace text, duty text)
  language sql stable
  set search_path = pg_catalog, pg_temp
  set role = 'steadhold_app'
  as $$
  select * from steadhold.due_fences()
  union all select * from steadhold.due_jobs()
  union all select * from steadhold.due_events()
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
    union all select * from steadhold.used_jobs(wanted)
  ) u group by u.what
$$;
