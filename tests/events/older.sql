-- What a server of the release before migration 0032 asks, word for word.

-- name: publish
-- rank: aggregates by aggregate_id, aggregate_revision, subscription
-- A replay may have been quicker, and what is under way stays as it is; what has ended begins again where asked so.
insert into steadhold.publications as p (workspace, aggregate_id, aggregate_revision, subscription, id, target, lane, key,
  made_at)
select :workspace::text, i.aggregate_id, i.aggregate_revision, i.subscription,
  md5(i.subscription || '/' || i.aggregate_id || '@' || i.aggregate_revision)::uuid, i.target, i.lane, i.key,
  steadhold.clock()
from unnest(:aggregate_id::text[], :aggregate_revision::bigint[], :subscription::text[], :target::text[],
    :lane::smallint[], :key::text[])
  with ordinality as i(aggregate_id, aggregate_revision, subscription, target, lane, key, n)
order by i.aggregate_id, i.aggregate_revision, i.subscription
on conflict (workspace, aggregate_id, aggregate_revision, subscription) do update set
  target = excluded.target, lane = excluded.lane, key = excluded.key, state = 0, attempts = 0, next_at = null, why = null,
  settled_at = null
where p.state >= 3 and :again::bool

-- name: lanes
-- rank: read
-- The lanes in which something is to be done now.
with recursive lane as (
  (select p.target, p.lane from steadhold.publications p
   where p.workspace = :workspace::text and p.state < 3 order by p.target, p.lane limit 1)
  union all
  select n.target, n.lane from lane cross join lateral (
    select p.target, p.lane from steadhold.publications p
    where p.workspace = :workspace::text and p.state < 3 and (p.target, p.lane) > (lane.target, lane.lane)
    order by p.target, p.lane limit 1) n
)
select lane.target, lane.lane from lane
where exists (select from steadhold.ready_keys(:workspace::text, lane.target, lane.lane, '', 1))

-- name: ready
-- rank: read
-- The first open publications of the keys whose turn it is, behind `after`.
select p.key, p.aggregate_id, p.aggregate_revision, p.subscription, p.state, p.next_at is null or p.next_at <= steadhold.clock()
from steadhold.ready_keys(:workspace::text, :target::text, :lane::smallint, :after::text, :keys::bigint) as k(key)
cross join lateral (
  select p.* from steadhold.publications p
  where p.workspace = :workspace::text and p.target = :target::text and p.lane = :lane::smallint and p.key = k.key
    and p.state < 3
  order by p.aggregate_revision, p.subscription limit :each::bigint
) p
order by p.key, p.aggregate_revision, p.subscription

-- name: published
-- rank: aggregates
-- What is open of these has been published.
update steadhold.publications p set state = 3, settled_at = steadhold.clock(), next_at = null, why = null
where p.workspace = :workspace::text and p.id = any(:ids::uuid[]) and p.state < 3
returning p.aggregate_id, p.aggregate_revision

-- name: held_up
-- rank: aggregates by id
-- What was not taken waits (`seconds`) or is parked, and then its subscription has something to announce. What is led
-- there by none (a send) gets a row for that, which is nobody's subscription and reads as deleted.
with i as materialized (
  select * from unnest(:id::uuid[], :attempts::int[], :seconds::float8[], :why::text[])
    with ordinality as i(id, attempts, seconds, why, n)
), told as (
  update steadhold.publications p set attempts = i.attempts, why = left(i.why, 1000),
    state = case when i.seconds is null then 2 else 1 end,
    next_at = steadhold.clock() + make_interval(secs => i.seconds)
  from i where p.workspace = :workspace::text and p.id = any(:id::uuid[]) and p.id = i.id and p.state < 3
  returning p.subscription, p.state, p.target
)
insert into steadhold.subscriptions as s (workspace, subscription, revision, types, aggregates, target, ordered, deleted,
  announce_at, made_at, changed_at)
select distinct on (t.subscription) :workspace::text, t.subscription, 1, '{}'::text[], '{}'::text[], t.target, false, true,
  steadhold.clock(), steadhold.clock(), steadhold.clock()
from told t where t.state = 2 order by t.subscription
on conflict (workspace, subscription) do update set announce_at = excluded.announce_at where s.announce_at is null

-- name: skip
-- rank: aggregates
update steadhold.publications p set state = 4, settled_at = steadhold.clock(), next_at = null
where p.workspace = :workspace::text and p.id = any(:ids::uuid[]) and p.state < 3

-- name: again
-- rank: aggregates
-- An operator's retry: its attempts begin anew.
update steadhold.publications p set state = 0, attempts = 0, next_at = null
where p.workspace = :workspace::text and p.id = any(:ids::uuid[]) and p.state < 3
