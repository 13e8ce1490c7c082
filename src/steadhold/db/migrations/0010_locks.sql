-- Locks. Who holds one is a row of `grants`. The operation that took it stands in a column of its own, which is in no
-- index: so a lock is taken and released without touching one.
alter table steadhold.grants
  add column operation text collate "C",  -- of a lock: what took it; asked again under it, the same grant answers
  add column revision bigint check (revision between 1 and 999999999999999);  -- of a lock: each grant and each end

-- A ticket is an operation that asks for a lock: it waits in line, or was granted a fence. One that was granted stays as
-- long as it may be asked again, so that no operation ever takes a lock twice.
create table steadhold.lock_tickets (
  workspace text collate "C" not null,
  operation text collate "C" not null,
  subject text collate "C" not null,
  fence bigint,  -- null: it waits
  request text collate "C",  -- the live request that waits under it
  placed_at timestamptz,  -- its place in line
  asked_at timestamptz,  -- when that request came
  live_until timestamptz,  -- unless its request is heard of again
  check_at timestamptz not null,  -- when a sweep looks; hearing of a request leaves it
  primary key (workspace, operation, subject)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

create index lock_tickets_in_line on steadhold.lock_tickets (workspace, subject, placed_at, operation)
  where fence is null;
create index lock_tickets_to_check on steadhold.lock_tickets (workspace, check_at);

select steadhold.enclose('steadhold.lock_tickets');
grant select, insert, update, delete on steadhold.lock_tickets to steadhold_app;

-- (Grants that ran out are announced by fences.)
create function steadhold.due_locks() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'locks.tickets' from steadhold.workspaces w
  where exists (
    select from steadhold.lock_tickets t
    where t.workspace = w.workspace and t.check_at <= (select steadhold.clock()))
$$;
revoke all on function steadhold.due_locks() from public;
grant execute on function steadhold.due_locks() to steadhold_app;
