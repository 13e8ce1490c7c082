-- Private prefixes: names under which a room stores nothing that it can read.
create table steadhold.private_prefixes (
  workspace text collate "C" not null,
  kind text collate "C" not null check (kind in ('state', 'context')),
  prefix text collate "C" not null,
  revision bigint not null,
  made_at timestamptz not null,
  primary key (workspace, kind, prefix)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01);
select steadhold.enclose('steadhold.private_prefixes');
grant select, insert, delete on steadhold.private_prefixes to steadhold_app;

-- The lock that writers of a kind share until they commit, and that whoever makes a prefix private takes alone.
create function steadhold.private_lock(workspace text, kind text) returns bigint
  language sql immutable parallel safe
  as $$ select hashtextextended('steadhold.private:' || workspace || ':' || kind, 0) $$;

-- Those of the names that lie under a private prefix. Volatile, so that what is read after the lock is what stands
-- then, also where the statement that asks began before: a prefix that was made meanwhile is seen.
create function steadhold.private_names(of_workspace text, of_kind text, names text[]) returns setof text
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
begin
  perform pg_advisory_xact_lock_shared(steadhold.private_lock(of_workspace, of_kind));
  if exists (select from steadhold.private_prefixes p where p.workspace = of_workspace and p.kind = of_kind) then
    return query
      select n.name from unnest(names) as n(name)
      where exists (
        select from steadhold.private_prefixes p
        where p.workspace = of_workspace and p.kind = of_kind
          and (n.name = p.prefix or starts_with(n.name, p.prefix || '/')));
  end if;
end
$$;
revoke all on function steadhold.private_names(text, text, text[]) from public;
grant execute on function steadhold.private_names(text, text, text[]) to steadhold_app;
