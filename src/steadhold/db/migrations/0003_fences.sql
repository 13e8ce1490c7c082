-- Who holds what: locks, job leases, consumers, lanes of a relay. One narrow row for each subject, whose fence only
-- rises; the row of a lock or a consumer stays for ever, so that no fence is ever issued twice.
create table steadhold.grants (
  workspace text collate "C" not null,
  subject text collate "C" not null,
  kind text collate "C" not null generated always as (split_part(subject, ':', 1)) stored,
  fence bigint not null check (fence between 1 and 999999999999999),
  holder text not null,
  key text collate "C",  -- the operation that took it; asked again under it, the same grant answers
  length_seconds float8 not null check (length_seconds > 0),
  until timestamptz,  -- null: ended
  released boolean not null default false,  -- ended by its holder, not by the clock
  check_at timestamptz,  -- when a sweep looks; a renewal leaves it, so that renewals touch no index
  primary key (workspace, subject)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

create index grants_to_check on steadhold.grants (workspace, kind, check_at) where check_at is not null;
create index grants_by_key on steadhold.grants (workspace, kind, key) where key is not null;

-- The highest fence that a resource has seen which cannot keep its own.
create table steadhold.marks (
  workspace text collate "C" not null,
  resource text collate "C" not null,
  fence bigint not null check (fence between 1 and 999999999999999),
  primary key (workspace, resource)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

select steadhold.enclose('steadhold.grants'), steadhold.enclose('steadhold.marks');
grant select, insert, update, delete on steadhold.grants to steadhold_app;
grant select, insert, update on steadhold.marks to steadhold_app;

-- Only a job is gone for good: whatever may be granted again keeps its row, and with it its fence.
create policy fences_stay on steadhold.grants as restrictive for delete using (kind = 'job');

-- When a grant ends. One of an earlier incarnation runs its whole length from the beginning of this one, since its
-- renewals may have been lost. Stable and plain, so that the planner inlines it.
create function steadhold.grant_end(
    until timestamptz, fence bigint, length_seconds float8, incarnation bigint, began_at timestamptz)
  returns timestamptz language sql stable parallel safe
  as $$
  select case when until is not null then
    greatest(until, case when fence >> 32 < incarnation then began_at + make_interval(secs => length_seconds) end)
  end
$$;

create function steadhold.due_fences() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'fences.' || k.kind
  from steadhold.workspaces w
  cross join (values ('job'), ('lock'), ('consumer'), ('lane')) as k(kind)
  where exists (
    select from steadhold.grants g
    where g.workspace = w.workspace and g.kind = k.kind and g.check_at <= (select steadhold.clock())
  )
$$;
revoke all on function steadhold.due_fences() from public;
grant execute on function steadhold.due_fences() to steadhold_app;
