-- No index knows when a name that stands was changed: a write of it then touches no index at all, and PostgreSQL need not
-- look at every older version of the row to see that its key is not taken twice. Under a snapshot that somebody holds,
-- that cost more with each write.
alter table steadhold.state add column gone_at timestamptz
  generated always as (case when not present then changed_at end) stored;  -- a tombstone's age
drop index steadhold.state_tombstones;
create index state_tombstones on steadhold.state (workspace, gone_at) where gone_at is not null;

create or replace function steadhold.due_state() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'state.tombstones' from steadhold.workspaces w
  where exists (
    select from steadhold.state s
    where s.workspace = w.workspace and s.gone_at < (select steadhold.clock()) - make_interval(secs =>
      coalesce(nullif(current_setting('steadhold.tombstones_seconds', true), ''), '2592000')::float8))
$$;
