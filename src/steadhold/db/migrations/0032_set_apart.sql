-- What waits is set apart: a walk for what is to be published now steps over none of it, however much there is.
--
-- `apart`: the publication waits for its time, is parked, or stands behind one of its key that does. The first open one of a
-- key whose turn it is never is. The holder of a lane alone sets apart; whoever ends a publication lets in what is behind it.
alter table steadhold.publications add column apart boolean not null default false;
grant update (apart) on steadhold.publications to steadhold_app;

drop index steadhold.publications_open;
create index publications_open on steadhold.publications
  (workspace, target, lane, key, aggregate_revision, subscription) where state < 3 and not apart;
create index publications_apart on steadhold.publications
  (workspace, target, lane, key, aggregate_revision, subscription) where state < 3 and apart;
create index publications_waiting on steadhold.publications (workspace, next_at) where state = 1 and apart;

-- The keys of a lane of which something is not set apart, behind `after`: one step of the index a key.
create or replace function steadhold.ready_keys(
    of_workspace text, of_target text, of_lane smallint, after text, most bigint)
  returns setof text language sql stable
  as $$
  with recursive head as (
    (select p.key from steadhold.publications p
     where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key > after collate "C"
       and p.state < 3 and not p.apart
     order by p.key limit 1)
    union all
    select n.key from head cross join lateral (
      select p.key from steadhold.publications p
      where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key > head.key
        and p.state < 3 and not p.apart
      order by p.key limit 1) n
  )
  select head.key from head limit most
$$;

-- As migration 0031 makes such functions. Each part that looks at publications takes the first by an index and no more:
-- ordered so, no other index does.
create or replace function steadhold.due_events() returns table (workspace text, duty text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on
  as $$begin return query execute $asked$
  select w.workspace, 'events.waits' from steadhold.workspaces w
  where exists (select from steadhold.waits t
    where t.workspace = w.workspace and t.due_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'events.match' from steadhold.workspaces w
  where exists (select from steadhold.events e where e.workspace = w.workspace and e.matched_at is null)
  union all
  select w.workspace, 'events.publish' from steadhold.workspaces w
  where (select true from steadhold.publications p
      where p.workspace = w.workspace and p.state < 3 and not p.apart
      order by p.target, p.lane, p.key limit 1)
    or (select true from steadhold.publications p
      where p.workspace = w.workspace and p.state = 1 and p.apart and p.next_at <= (select steadhold.clock())
      order by p.next_at limit 1)
  union all
  select w.workspace, 'events.announce' from steadhold.workspaces w
  where exists (select from steadhold.subscriptions s
    where s.workspace = w.workspace and s.announce_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'events.end' from steadhold.workspaces w
  where exists (select from steadhold.subscriptions s where s.workspace = w.workspace and s.ending)
  union all
  select w.workspace, 'events.purge' from steadhold.workspaces w
  cross join lateral (select (select steadhold.clock()) - make_interval(secs =>
      coalesce(nullif(current_setting('steadhold.events_seconds', true), ''), '259200')::float8) as at) past
  where exists (select from steadhold.events e
      where e.workspace = w.workspace and not starts_with(e.aggregate_id, 'job:') and e.matched_at < past.at)
    or exists (select from steadhold.events e
      where e.workspace = w.workspace and e.orphaned and e.matched_at < past.at)
$asked$; end$$;
