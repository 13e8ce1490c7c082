-- Doors of inboxes: third parties send their webhooks to an address that is a secret, signed by another.

-- Which workspace an address is of: all that is known when a request arrives is the address. Only its hash is kept, and
-- it is not led by its workspace (see key_places).
create table steadhold.door_places (
  hash bytea not null primary key check (octet_length(hash) = 32),
  workspace text collate "C" not null,
  door uuid not null
);
select steadhold.enclose('steadhold.door_places');
grant select, insert, delete on steadhold.door_places to steadhold_app;
create index door_places_of_door on steadhold.door_places (workspace, door);

-- `inbox` is the life of the inbox that it was made for: one made anew under the name has none of these doors.
-- Secrets are sealed. `id_from` null: where the scheme has it.
create table steadhold.doors (
  workspace text collate "C" not null,
  id uuid not null,
  inbox uuid not null,
  inbox_name text collate "C" not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  scheme text collate "C" not null check (scheme in ('standard', 'github', 'stripe', 'slack', 'hmac')),
  id_from text collate "C",
  sealed bytea not null,
  old_sealed bytea,
  old_until timestamptz,
  made_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (workspace, id),
  check ((old_sealed is null) = (old_until is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
select steadhold.enclose('steadhold.doors');
-- What is proven at a door, and which inbox it leads to, is said once: another is made for that.
grant select, insert, delete, update (revision, sealed, old_sealed, old_until, changed_at) on steadhold.doors
  to steadhold_app;
create index doors_of_inbox on steadhold.doors (workspace, inbox, id);

-- Which door an address is of, in whatever workspace it is, with how many requests that workspace may send.
create function steadhold.find_door(wanted bytea)
  returns table (workspace text, door uuid, inbox text, requests_per_second_max bigint)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select d.workspace, d.id, d.inbox_name, e.requests_per_second_max
  from steadhold.door_places p
  join steadhold.doors d on d.workspace = p.workspace and d.id = p.door
  left join steadhold.entitlements e on e.workspace = p.workspace
  where p.hash = wanted
$$;
revoke all on function steadhold.find_door(bytea) from public;
grant execute on function steadhold.find_door(bytea) to steadhold_app;
