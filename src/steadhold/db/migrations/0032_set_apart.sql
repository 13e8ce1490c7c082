-- What waits is set apart: a walk for what is to be published now steps over none of it, however much there is.
--
-- `apart`: the publication waits for its time, is parked, or stands behind one of its key that does. The first open one of a
-- key whose turn it is never is. The holder of a lane alone sets apart. Null: a relay that knows of this has published it.
alter table steadhold.publications add column apart boolean default false;
grant update (apart) on steadhold.publications to steadhold_app;

drop index steadhold.publications_open;
create index publications_open on steadhold.publications
  (workspace, target, lane, key, aggregate_revision, subscription) where state < 3 and apart is not true;
create index publications_apart on steadhold.publications
  (workspace, target, lane, key, aggregate_revision, subscription) where state < 3 and apart;
create index publications_waiting on steadhold.publications (workspace, next_at) where state = 1 and apart;

-- Behind what ends, what is set apart is let in: it may be the first of its key now, and if it is not, it is set apart again.
-- What is to be tried or published anew is let in itself. This is done here, since servers of older releases know nothing of
-- it. A relay that does know has let in what comes next before it publishes, and says so (null). What is null before it ends
-- was replayed by who did not say anything of it: its end says nothing either.
create function steadhold.let_in() returns trigger
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  as $$
declare
  behind record;
begin
  if new.state = 0 then
    update steadhold.publications p set apart = false where p.workspace = new.workspace and p.id = new.id;
    return null;
  end if;
  -- Who is ending what stands there is waited for, and what is set apart behind that is next.
  select p.id, p.state into behind from steadhold.publications p
  where p.workspace = new.workspace and p.target = new.target and p.lane = new.lane and p.key = new.key
    and p.state < 3 and p.apart
    and (p.aggregate_revision, p.subscription) > (new.aggregate_revision, new.subscription)
  order by p.aggregate_revision, p.subscription limit 1 for no key update;
  if behind.state = 0 then
    update steadhold.publications p set apart = false where p.workspace = new.workspace and p.id = behind.id;
  end if;
  return null;
end
$$;
revoke all on function steadhold.let_in() from public;
create trigger let_in after update of state on steadhold.publications for each row
  when (old.state < 3 and new.state >= 3 and (new.apart is not null or old.apart is null)
    or old.state > 0 and new.state = 0 and old.apart and new.apart)
  execute function steadhold.let_in();

-- Relays of older releases ask this: the keys of a lane whose turn it is, behind `after`. Their walk finds what is not set
-- apart, as ours does; and what is the first of its key and has waited long enough, to which nobody gives its turn where
-- none of ours is.
create or replace function steadhold.ready_keys(
    of_workspace text, of_target text, of_lane smallint, after text, most bigint)
  returns setof text language sql stable
  as $$
  with recursive head as (
    (select p.key from steadhold.publications p
     where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key > after collate "C"
       and p.state < 3 and p.apart is not true
     order by p.key limit 1)
    union all
    select n.key from head cross join lateral (
      select p.key from steadhold.publications p
      where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key > head.key
        and p.state < 3 and p.apart is not true
      order by p.key limit 1) n
  ), first as (
    select head.key from head cross join lateral (
      select e.state, e.next_at from (
        (select p.* from steadhold.publications p
         where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key = head.key
           and p.state < 3 and p.apart is not true
         order by p.aggregate_revision, p.subscription limit 1)
        union all
        (select p.* from steadhold.publications p
         where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key = head.key
           and p.state < 3 and p.apart
         order by p.aggregate_revision, p.subscription limit 1)
      ) e order by e.aggregate_revision, e.subscription limit 1) e
    where e.state = 0 or e.next_at <= steadhold.clock() limit most
  ), due as materialized (
    select p.target, p.lane, p.key, p.aggregate_revision, p.subscription from steadhold.publications p
    where p.workspace = of_workspace and p.state = 1 and p.apart and p.next_at <= (select steadhold.clock())
    order by p.next_at
  )
  select k.key from (
    select first.key from first
    union
    select due.key from due
    where due.target = of_target and due.lane = of_lane and due.key > after collate "C"
      and not exists (select from steadhold.publications p
        where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key = due.key
          and p.state < 3 and p.apart is not true
          and (p.aggregate_revision, p.subscription) < (due.aggregate_revision, due.subscription))
      and not exists (select from steadhold.publications p
        where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key = due.key
          and p.state < 3 and p.apart
          and (p.aggregate_revision, p.subscription) < (due.aggregate_revision, due.subscription))
  ) k order by k.key limit most
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
      where p.workspace = w.workspace and p.state < 3 and p.apart is not true
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
