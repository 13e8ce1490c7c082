-- Identities of mutations, and what became of them.
--
-- A claim is inserted before an effect and a receipt after it, in the effect's own transaction; neither is ever
-- updated. So whatever is committed here is final, and what is in flight is a lock that ends with its transaction:
-- a committed claim always has its receipt.
create table steadhold.claims (
  workspace text collate "C" not null,
  key text collate "C" not null,
  fingerprint bytea not null,  -- empty: whoever claimed it did so to abandon it
  primary key (workspace, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

create table steadhold.receipts (
  workspace text collate "C" not null,
  key text collate "C" not null,
  abandoned boolean not null,
  kind text not null,
  scope text not null,
  scoped text not null,
  subject text not null,
  status smallint not null,
  body bytea not null,
  content_type text not null,
  headers bytea not null,
  resource text,
  revision bigint,
  fence bigint,
  committed_at timestamptz not null,
  primary key (workspace, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

create index receipts_by_age on steadhold.receipts (workspace, committed_at);

-- How far receipts were purged: no id that says it is older is ever executed, whatever window is set by then.
create table steadhold.receipt_horizons (
  workspace text collate "C" not null primary key,
  purged_before timestamptz not null
) with (fillfactor = 50);

select steadhold.enclose('steadhold.claims'), steadhold.enclose('steadhold.receipts'),
  steadhold.enclose('steadhold.receipt_horizons');

-- A refusal takes back its own claim. Nobody takes back one that has a receipt, the owner neither.
create policy sealed_stays on steadhold.claims as restrictive for delete using (
  not exists (select from steadhold.receipts r where r.workspace = claims.workspace and r.key = claims.key)
);

grant select, insert, delete on steadhold.claims to steadhold_app;
grant select, insert on steadhold.receipts to steadhold_app;
grant select on steadhold.receipt_horizons to steadhold_app;

-- Retention is the one thing that removes receipts, and the application's role may not: it asks this function,
-- which removes nothing but what is older than it is told, in the caller's own workspace, and never younger than a
-- day. A second role would need a second login, or a switch that any leaked connection could make as well.
-- Receipts go first: a claim may only go once it has none, and the second statement sees that.
-- An id may lie `ahead_seconds` ahead of the clock, so a receipt stays that much longer than its id counts as new.
create function steadhold.purge_operations(
    of_workspace text, kept_seconds float8, ahead_seconds float8, batch bigint) returns bigint
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  before timestamptz := steadhold.clock() - make_interval(secs => greatest(kept_seconds, 86400));
  gone text[];
begin
  if of_workspace is distinct from current_setting('steadhold.workspace', true) then
    return 0;
  end if;
  with old as materialized (
    select r.key from steadhold.receipts r
    where r.workspace = of_workspace and r.committed_at < before - make_interval(secs => ahead_seconds)
    order by r.committed_at limit batch for update skip locked
  ), deleted as (
    delete from steadhold.receipts r using old where r.workspace = of_workspace and r.key = old.key returning r.key
  )
  select array_agg(key order by key collate "C") into gone from deleted;
  if gone is null then
    return 0;
  end if;
  delete from steadhold.claims c where c.workspace = of_workspace and c.key = any(gone);
  insert into steadhold.receipt_horizons as h (workspace, purged_before) values (of_workspace, before)
  on conflict (workspace) do update set purged_before = greatest(h.purged_before, excluded.purged_before);
  return cardinality(gone);
end $$;
revoke all on function steadhold.purge_operations(text, float8, float8, bigint) from public;
grant execute on function steadhold.purge_operations(text, float8, float8, bigint) to steadhold_app;

-- The window is a setting of the server, which says it here before it asks; without one it is seven days.
create function steadhold.due_operations() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'operations.purge'
  from steadhold.workspaces w
  where exists (
    select from steadhold.receipts r
    where r.workspace = w.workspace
      and r.committed_at < (select steadhold.clock()) - make_interval(secs =>
        300 + coalesce(nullif(current_setting('steadhold.receipts_seconds', true), ''), '604800')::float8)
  )
$$;
revoke all on function steadhold.due_operations() from public;
grant execute on function steadhold.due_operations() to steadhold_app;
