-- access: keys, how much a workspace may have, and the record of who changed what.

-- Which workspace a key is of: all that is known when a request arrives is the key's id. The one table that is
-- not led by its workspace; ids are unique over all of them, and where data is distributed it is copied everywhere.
create table steadhold.key_places (
  key_id text collate "C" not null primary key,
  workspace text collate "C" not null
);
select steadhold.enclose('steadhold.key_places');
grant select, insert on steadhold.key_places to steadhold_app;

-- A key's row holds its hash, and for a while the hash that it had before it was rotated; never a secret.
-- Operators' keys belong to no workspace: they lie under a name that no workspace can have.
create table steadhold.keys (
  workspace text collate "C" not null,
  key_id text collate "C" not null,
  revision bigint not null check (revision > 0),
  env text collate "C" not null,
  subject text collate "C" not null,
  kind text collate "C" not null check (kind in ('service', 'person', 'operator')),
  scopes text[] not null,
  state text collate "C" not null check (state in ('active', 'revoked', 'expired')),
  hash bytea not null check (octet_length(hash) = 32),
  old_hash bytea check (octet_length(old_hash) = 32),
  old_until timestamptz,
  made_by text collate "C",  -- a key's id; null for keys made at the database itself
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  sweep_at timestamptz generated always as (least(expires_at, old_until)) stored,
  primary key (workspace, key_id),
  check ((kind = 'operator') = (workspace = '~house')),
  check ((old_hash is null) = (old_until is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
select steadhold.enclose('steadhold.keys');
-- Whose a key is and what it may do is said once: another key is made for that.
grant select, insert, update (revision, state, hash, old_hash, old_until, last_used_at) on steadhold.keys
  to steadhold_app;
create index keys_due on steadhold.keys (workspace, sweep_at) where state = 'active' and sweep_at is not null;

-- A key as it is told: without what it is compared with, and expired from the moment on that it is.
create view steadhold.keys_told with (security_invoker = true) as
select k.workspace, k.key_id, k.revision, k.env, k.subject, k.kind, k.scopes,
  case when k.state = 'active' and k.expires_at <= steadhold.clock() then 'expired' else k.state end as state,
  k.made_by, k.created_at, k.expires_at, k.last_used_at,
  case when k.old_until > steadhold.clock() then k.old_until end as old_secret_until
from steadhold.keys k;
grant select on steadhold.keys_told to steadhold_app;

-- Null is no limit, and no row is none at all. Read by other rooms within their own statements, locked by nobody.
create table steadhold.entitlements (
  workspace text collate "C" not null primary key,
  revision bigint not null check (revision > 0),
  job_types text[],
  jobs_queued_max bigint check (jobs_queued_max >= 0),
  jobs_running_max bigint check (jobs_running_max >= 0),
  requests_per_second_max bigint check (requests_per_second_max >= 1),
  names_max bigint check (names_max >= 0),
  bytes_max bigint check (bytes_max >= 0),
  endpoints_max bigint check (endpoints_max >= 0),
  changed_at timestamptz not null,
  recount_at timestamptz  -- null while nothing is metered
);
select steadhold.enclose('steadhold.entitlements');
grant select, insert, update on steadhold.entitlements to steadhold_app;
create index entitlements_due on steadhold.entitlements (workspace, recount_at) where recount_at is not null;

-- Names and bytes that a workspace has, kept only while it has a limit on either. A connection adds to a slot of
-- its own, so that writers do not queue; the sum is what is used, and a recount puts it right now and then.
create table steadhold.meters (
  workspace text collate "C" not null,
  what text collate "C" not null check (what in ('bytes', 'names')),
  slot int not null check (slot between 0 and 15),
  amount bigint not null,
  primary key (workspace, what, slot)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
select steadhold.enclose('steadhold.meters');
grant select, insert, update (amount) on steadhold.meters to steadhold_app;

-- Kept for ever and never changed: the application may add to it and read it, nothing else.
create table steadhold.audit (
  workspace text collate "C" not null,
  at timestamptz not null,
  number bigint generated always as identity,  -- parts rows of one moment; it says nothing of order
  subject text collate "C" not null,
  key_id text collate "C",
  kind text collate "C" not null,
  resource text collate "C" not null,
  operation_id text collate "C",
  primary key (workspace, at, number)
);
select steadhold.enclose('steadhold.audit');
grant select, insert on steadhold.audit to steadhold_app;
create index audit_subjects on steadhold.audit (workspace, subject, at, number);
create index audit_resources on steadhold.audit (workspace, resource, at, number);

-- Everything that the test of one request's key needs, in whatever workspace it is.
create function steadhold.find_key(wanted text)
  returns table (
    workspace text, alive boolean, hash bytea, old_hash bytea, ends_in float8, old_ends_in float8,
    unused_seconds float8, requests_per_second_max bigint,
    key_id text, revision bigint, env text, subject text, kind text, scopes text[], state text, made_by text,
    created_at timestamptz, expires_at timestamptz, last_used_at timestamptz, old_secret_until timestamptz)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select t.workspace, t.state = 'active', k.hash, k.old_hash,
    extract(epoch from t.expires_at - steadhold.clock())::float8,
    extract(epoch from t.old_secret_until - steadhold.clock())::float8,
    extract(epoch from steadhold.clock() - t.last_used_at)::float8,
    e.requests_per_second_max,
    t.key_id, t.revision, t.env, t.subject, t.kind, t.scopes, t.state, t.made_by,
    t.created_at, t.expires_at, t.last_used_at, t.old_secret_until
  from steadhold.key_places p
  join steadhold.keys k on k.workspace = p.workspace and k.key_id = p.key_id
  join steadhold.keys_told t on t.workspace = p.workspace and t.key_id = p.key_id
  left join steadhold.entitlements e on e.workspace = p.workspace
  where p.key_id = wanted
$$;
revoke all on function steadhold.find_key(text) from public;
grant execute on function steadhold.find_key(text) to steadhold_app;

-- The list of all workspaces, which only an operator's key is shown.
create function steadhold.workspaces_after(past text, most bigint)
  returns table (workspace text, created_at timestamptz)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, w.created_at from steadhold.workspaces w where w.workspace > past order by w.workspace limit most
$$;
revoke all on function steadhold.workspaces_after(text, bigint) from public;
grant execute on function steadhold.workspaces_after(text, bigint) to steadhold_app;

-- What a workspace uses of what it is entitled to; each room adds its own part in the last migration.
create function steadhold.used(wanted text) returns table (what text, amount bigint)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select null::text, null::bigint where false $$;

-- The time is asked once, in a query of its own: asked in the condition it would keep the index from serving it.
create function steadhold.due_access() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select distinct k.workspace, 'access.keys' from steadhold.keys k
  where k.state = 'active' and k.sweep_at <= (select steadhold.clock())
  union all
  select e.workspace, 'access.recount' from steadhold.entitlements e
  where e.recount_at <= (select steadhold.clock())
$$;
revoke all on function steadhold.due_access() from public;
grant execute on function steadhold.due_access() to steadhold_app;
