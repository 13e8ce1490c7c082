-- state: a narrow row a name, so that a write is an update in place; its bytes lie in the revisions.

create table steadhold.state (
  workspace text collate "C" not null,
  name text collate "C" not null,
  revision bigint not null check (revision > 0),
  present boolean not null,  -- false: a tombstone, which keeps the revision
  bytes bigint not null check (bytes >= 0),
  digest bytea not null check (octet_length(digest) in (0, 32)),
  changed_at timestamptz not null,
  primary key (workspace, name)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create table steadhold.state_revisions (
  workspace text collate "C" not null,
  name text collate "C" not null,
  revision bigint not null,
  body bytea,  -- null: this revision is a deletion
  digest bytea not null,
  written_at timestamptz not null,
  primary key (workspace, name, revision)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create index state_tombstones on steadhold.state (workspace, changed_at) where not present;

select steadhold.enclose('steadhold.state');
select steadhold.enclose('steadhold.state_revisions');

grant select, insert, update (revision, present, bytes, digest, changed_at), delete on steadhold.state to steadhold_app;
grant select, insert, delete on steadhold.state_revisions to steadhold_app;

-- Which workspaces hold tombstones past their window: a setting of the server, without one it is thirty days.
create function steadhold.due_state() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'state.tombstones' from steadhold.workspaces w
  where exists (
    select from steadhold.state s
    where s.workspace = w.workspace and not s.present
      and s.changed_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.tombstones_seconds', true), ''), '2592000')::float8))
$$;
revoke all on function steadhold.due_state() from public;
grant execute on function steadhold.due_state() to steadhold_app;

-- What a workspace's state uses of its entitlements, counted afresh.
create function steadhold.used_state(workspace text) returns table (what text, amount bigint)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select u.what, u.amount from (
    select count(*) as names, coalesce(sum(s.bytes), 0)::bigint as bytes
    from steadhold.state s where s.workspace = $1 and s.present
  ) c cross join lateral (values ('names', c.names), ('bytes', c.bytes)) u (what, amount)
$$;
revoke all on function steadhold.used_state(text) from public;
grant execute on function steadhold.used_state(text) to steadhold_app;
