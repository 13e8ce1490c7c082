-- The ground every room stands on: the application's role, the one clock, the incarnation, the workspaces.
--
-- One schema holds everything, so that a user's own database keeps its names.
-- The application role owns nothing and may not change the schema: a leaked connection cannot drop a wall.
-- It is a role to switch to, not to log in with: one login may serve migrations and requests, and each
-- transaction of ours says which of the two it is.
-- Roles belong to the whole server, not to a database: another database of it may be making this one right now.
do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'steadhold_app') then
    create role steadhold_app nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise insufficient_privilege using message = format(
      'role %I may not create roles, and steadhold needs one; as an administrator run: '
      'create role steadhold_app nologin; grant steadhold_app to %I;', current_user, current_user);
end $$;

-- "member" would be true of a grant that only lets one administer the role; what is needed is to become it.
do $$
begin
  if not pg_catalog.pg_has_role(current_user, 'steadhold_app', 'usage') then
    execute format('grant steadhold_app to %I', current_user);
  end if;
exception
  when insufficient_privilege then
    raise insufficient_privilege using message = format(
      'role %I may not become steadhold_app; as an administrator run: grant steadhold_app to %I;',
      current_user, current_user);
end $$;

grant usage on schema steadhold to steadhold_app;
grant select on steadhold.migrations to steadhold_app;  -- a server that is asked whether it is ready looks there

-- Time is asked here and nowhere else, so that a test can move it. Plain SQL, so that the planner inlines it.
create function steadhold.clock() returns timestamptz
  language sql volatile parallel safe
  as 'select pg_catalog.clock_timestamp()';

-- A second wall: a query that forgets its workspace sees nothing. Every table of every room is enclosed.
-- Functions that must look over all workspaces at once (what is due?) are declared `security definer`: in them the
-- current user is the owner, while the session's role is still the application's. That is the owner's door; an owner
-- who merely connects is confined like everybody. (A setting of the function's own cannot be the sign: only a
-- superuser may declare one.) Two policies rather than one with `or`, so that requests pay for one test.
create function steadhold.enclose(t regclass) returns void language plpgsql as $$
begin
  execute format('alter table %s enable row level security', t);
  execute format('alter table %s force row level security', t);
  -- a workspace may be the whole table: where most are small, the planner would else take one for a handful of rows
  -- and walk it instead of using a key
  execute format('alter table %s alter column workspace set (n_distinct = 1)', t);
  execute format(
    'create policy confined on %s using (workspace = current_setting(''steadhold.workspace'', true))', t);
  execute format(
    'create policy everywhere on %s to %I'
    ' using (current_setting(''role'') = ''steadhold_app'' or session_user <> current_user)', t, current_user);
end $$;
revoke all on function steadhold.enclose(regclass) from public;

-- One row: which life of the data this is. Numbers issued in a life that was partly lost are never issued again.
create table steadhold.house (
  single boolean primary key default true check (single),
  incarnation bigint not null default 0 check (incarnation between 0 and 232830),
  began_at timestamptz not null,
  system_identifier bigint not null,
  timeline text collate "C" not null,
  lsn_seen pg_lsn not null,
  seen_at timestamptz not null
);
-- 232830 is the last incarnation whose first number, incarnation << 32, still fits a fence of 15 digits.

insert into steadhold.house (began_at, system_identifier, timeline, lsn_seen, seen_at)
select steadhold.clock(), c.system_identifier,
  substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8),
  pg_catalog.pg_current_wal_flush_lsn(), steadhold.clock()
from pg_catalog.pg_control_system() c;

grant select on steadhold.house to steadhold_app;

-- Begins the incarnation after `past` and after the row's own. Not for the application role.
create function steadhold.begin_incarnation(past bigint) returns void
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
  update steadhold.house h set
    incarnation = greatest(h.incarnation, past) + 1,
    began_at = steadhold.clock(),
    system_identifier = c.system_identifier,
    timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    lsn_seen = pg_current_wal_flush_lsn(),
    seen_at = steadhold.clock()
  from pg_control_system() c
$$;
revoke all on function steadhold.begin_incarnation(bigint) from public;

-- What the operator says after a restore: a snapshot put back in place shows no sign of it.
create function steadhold.restored() returns table (incarnation bigint, began_at timestamptz)
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform from steadhold.house for update;
  perform steadhold.begin_incarnation(0);
  return query select h.incarnation, h.began_at from steadhold.house h;
end $$;
revoke all on function steadhold.restored() from public;

-- Compares this server with the row, and begins a new incarnation when something may have been lost:
-- another server or timeline, or a log shorter than one seen. `known_incarnation` and `known_lsn` are what the
-- caller remembers from an earlier connection, which a restored row has forgotten.
-- The test is repeated under the lock, and what a caller remembers of an earlier incarnation says nothing about
-- a later one: of many that notice together, one raises it.
-- The usual call only reads. The row learns the position once a minute: it need not be near, callers remember too.
create function steadhold.check_house(known_incarnation bigint, known_lsn pg_lsn)
  returns table (incarnation bigint, began_at timestamptz, lsn pg_lsn)
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  h steadhold.house;
begin
  select * into strict h from steadhold.house;
  if steadhold.lost(h, known_incarnation, known_lsn) then
    select * into strict h from steadhold.house for update;
    if steadhold.lost(h, known_incarnation, known_lsn) then
      perform steadhold.begin_incarnation(known_incarnation);
    end if;
    select * into strict h from steadhold.house;
  elsif h.seen_at < steadhold.clock() - interval '1 minute' then
    update steadhold.house set lsn_seen = pg_current_wal_flush_lsn(), seen_at = steadhold.clock()
    where single in (select s.single from steadhold.house s for update skip locked);
  end if;
  return query select h.incarnation, h.began_at, pg_current_wal_flush_lsn();
end $$;
revoke all on function steadhold.check_house(bigint, pg_lsn) from public;
grant execute on function steadhold.check_house(bigint, pg_lsn) to steadhold_app;

-- The position is read here, after the row was: one read before waiting for the lock would lie behind the row's.
create function steadhold.lost(h steadhold.house, known_incarnation bigint, known_lsn pg_lsn)
  returns boolean language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
  select h.system_identifier <> c.system_identifier
    or h.timeline <> substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    or pg_current_wal_lsn() < h.lsn_seen
    or h.incarnation < known_incarnation
    or (h.incarnation = known_incarnation and pg_current_wal_lsn() < known_lsn)
  from pg_control_system() c
$$;
revoke all on function steadhold.lost(steadhold.house, bigint, pg_lsn) from public;

-- A workspace is named by its name; nothing of it has another identity.
-- `revision_floor`: no revision at or below it is issued; purging a tombstone raises it.
-- `revisions_kept`: how many revisions of a name stay readable.
create table steadhold.workspaces (
  workspace text collate "C" not null primary key check (workspace ~ '^[A-Za-z0-9._~:@-]{1,200}$'),
  created_at timestamptz not null,
  revision_floor bigint not null default 0 check (revision_floor between 0 and 999999999999999),
  revisions_kept int not null default 10 check (revisions_kept >= 1)
) with (fillfactor = 80);
select steadhold.enclose('steadhold.workspaces');
grant select, insert, update on steadhold.workspaces to steadhold_app;

-- What is due, in all workspaces and rooms, in one query: each room adds its own part in the last migration.
create function steadhold.due() returns table (workspace text, duty text)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$ select null::text, null::text where false $$;
revoke all on function steadhold.due() from public;
grant execute on function steadhold.due() to steadhold_app;
