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

alter table steadhold.state enable row level security;
alter table steadhold.state force row level security;
create policy own_workspace on steadhold.state
  using (workspace = current_setting('steadhold.workspace', true));
alter table steadhold.state_revisions enable row level security;
alter table steadhold.state_revisions force row level security;
create policy own_workspace on steadhold.state_revisions
  using (workspace = current_setting('steadhold.workspace', true));

grant select, insert, update, delete on steadhold.state to steadhold_app;
grant select, insert, delete on steadhold.state_revisions to steadhold_app;
