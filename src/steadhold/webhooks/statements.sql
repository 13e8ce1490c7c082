-- name: make
-- rank: consumers
insert into steadhold.webhooks (workspace, id, revision, url, types, ordered, blocks, rate, concurrency, headers,
  header_names, retry_seconds, why, made_at, changed_at)
select :workspace::text, :id::uuid, greatest(0, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  :url::text, :types::text[], :ordered::boolean, :blocks::boolean, :rate::float8, :concurrency::int, :headers::bytea,
  :header_names::text[], :retry_seconds::float8[], 'new', steadhold.clock(), steadhold.clock()
returning revision

-- name: hold
-- rank: consumers
select k.id::text, k.revision, k.url, k.types, k.ordered, k.blocks, k.rate, k.concurrency, k.headers, k.header_names,
  k.retry_seconds, k.enabled, k.why, k.failures, k.failing_since, k.paused_until, k.pauses, k.width, k.last_success_at,
  k.made_at, k.changed_at
from steadhold.webhooks k
where k.workspace = :workspace::text and k.id = :id::uuid and not k.deleted
for no key update

-- name: share
-- rank: consumers
select k.id::text, k.revision, k.url, k.types, k.ordered, k.blocks, k.rate, k.concurrency, k.headers, k.header_names,
  k.retry_seconds, k.enabled, k.why, k.failures, k.failing_since, k.paused_until, k.pauses, k.width, k.last_success_at,
  k.made_at, k.changed_at
from steadhold.webhooks k
where k.workspace = :workspace::text and k.id = :id::uuid and not k.deleted
for share

-- name: share_unmetered
-- rank: consumers
-- Of an endpoint whose attempts are not counted by a rate.
select k.id::text, k.revision, k.url, k.types, k.ordered, k.blocks, k.rate, k.concurrency, k.headers, k.header_names,
  k.retry_seconds, k.enabled, k.why, k.failures, k.failing_since, k.paused_until, k.pauses, k.width, k.last_success_at,
  k.made_at, k.changed_at
from steadhold.webhooks k
where k.workspace = :workspace::text and k.id = :id::uuid and not k.deleted
  and k.rate is null
for share

-- name: look
-- rank: read
select k.id::text, k.revision, k.url, k.types, k.ordered, k.blocks, k.rate, k.concurrency, k.headers, k.header_names,
  k.retry_seconds, k.enabled, k.why, k.failures, k.failing_since, k.paused_until, k.pauses, k.width, k.last_success_at,
  k.made_at, k.changed_at
from steadhold.webhooks k
where k.workspace = :workspace::text and k.id = :id::uuid and not k.deleted

-- name: list
-- rank: read
select k.id::text, k.revision, k.url, k.types, k.ordered, k.blocks, k.rate, k.concurrency, k.headers, k.header_names,
  k.retry_seconds, k.enabled, k.why, k.failures, k.failing_since, k.paused_until, k.pauses, k.width, k.last_success_at,
  k.made_at, k.changed_at
from steadhold.webhooks k
where k.workspace = :workspace::text and k.id > :after::uuid and not k.deleted
order by k.id limit :limit::bigint

-- name: count
-- rank: read
select count(*) from steadhold.webhooks k
where k.workspace = :workspace::text and not k.deleted

-- name: change
-- rank: consumers
-- All of its own at once; its health begins anew where it is enabled.
update steadhold.webhooks k set
  revision = greatest(k.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  url = :url::text, types = :types::text[], ordered = :ordered::boolean, blocks = :blocks::boolean,
  rate = :rate::float8, concurrency = :concurrency::int, headers = :headers::bytea,
  header_names = :header_names::text[], retry_seconds = :retry_seconds::float8[],
  enabled = :enabled::boolean, why = :why::text, deleted = :deleted::boolean,
  failures = case when :anew::boolean then 0 else k.failures end,
  failing_since = case when :anew::boolean then null else k.failing_since end,
  paused_until = case when :anew::boolean then null else k.paused_until end,
  pauses = case when :anew::boolean then 0 else k.pauses end,
  width = case when :anew::boolean then null else k.width end,
  free_at = case when k.rate is distinct from :rate::float8 then null else k.free_at end,
  changed_at = steadhold.clock()
where k.workspace = :workspace::text and k.id = :id::uuid and not k.deleted
returning k.revision, k.changed_at

-- name: raise_
-- rank: consumers
update steadhold.webhooks k set
  revision = greatest(k.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
where k.workspace = :workspace::text and k.id = :id::uuid
returning k.revision

-- name: fare
-- rank: consumers
update steadhold.webhooks k set
  failures = :failures::int, failing_since = :failing_since::timestamptz, paused_until = :paused_until::timestamptz,
  pauses = :pauses::int, width = :width::int,
  last_success_at = coalesce(:last_success_at::timestamptz, k.last_success_at)
where k.workspace = :workspace::text and k.id = :id::uuid

-- name: add_secret
-- rank: consumers
insert into steadhold.webhook_secrets (workspace, webhook, n, sealed, public)
select :workspace::text, :id::uuid, coalesce(max(s.n), 0) + 1, :sealed::bytea, :public::text
from steadhold.webhook_secrets s where s.workspace = :workspace::text and s.webhook = :id::uuid

-- name: secrets
-- rank: read
select s.n, s.sealed, s.public, s.until from steadhold.webhook_secrets s
where s.workspace = :workspace::text and s.webhook = :id::uuid
  and (s.until is null or s.until > steadhold.clock())
order by s.n desc

-- name: retire
-- rank: consumers
-- What was current signs for the grace; what was retired before keeps its own end, and what is past goes.
with past as (
  delete from steadhold.webhook_secrets s
  where s.workspace = :workspace::text and s.webhook = :id::uuid
    and (s.until <= steadhold.clock() or (s.until is null and :grace_seconds::float8 = 0
      and (s.public is not null) = :asymmetric::boolean))
)
update steadhold.webhook_secrets s set until = steadhold.clock() + make_interval(secs => :grace_seconds::float8)
where s.workspace = :workspace::text and s.webhook = :id::uuid and s.until is null and :grace_seconds::float8 > 0
  and (s.public is not null) = :asymmetric::boolean

-- name: forget_secrets
-- rank: consumers
delete from steadhold.webhook_secrets s where s.workspace = :workspace::text and s.webhook = :id::uuid

-- name: endpoints
-- rank: read
select k.id::text, k.types, k.ordered, k.enabled from steadhold.webhooks k
where k.workspace = :workspace::text and not k.deleted and coalesce(k.why, '') <> 'new'
order by k.id

-- name: hold_lanes
-- rank: consumers
-- Of ordered endpoints: nobody moves a lane up while its next delivery is being written.
select k.id::text from steadhold.webhooks k
where k.workspace = :workspace::text and k.id = any(:ids::uuid[])
order by k.id for share

-- name: keep_bodies
-- rank: consumers
insert into steadhold.webhook_bodies (workspace, event_id, aggregate_id, aggregate_revision, type, body, trace, made_at)
select :workspace::text, i.event_id, i.aggregate_id, i.revision, i.type, i.body, i.trace, steadhold.clock()
from unnest(:event_id::text[], :aggregate_id::text[], :revision::bigint[], :type::text[], :body::bytea[], :trace::text[])
  as i(event_id, aggregate_id, revision, type, body, trace)
order by i.event_id
on conflict (workspace, event_id) do nothing

-- name: deliver
-- rank: consumers
-- One delivery for each endpoint and event; of a lane only its first may be tried, the others wait for it.
insert into steadhold.deliveries (workspace, id, webhook, event_id, kind, lane, place, state, next_at, made_at, ended_at)
select :workspace::text, i.id, i.webhook, i.event_id, 0, i.lane, i.place, case when i.skipped then 4 else 0 end,
  case when i.skipped or i.behind or i.lane is not null and exists (
      select from steadhold.deliveries d
      where d.workspace = :workspace::text and d.webhook = i.webhook and d.lane = i.lane and d.state in (0, 5))
    then null else steadhold.clock() end,
  steadhold.clock(), case when i.skipped then steadhold.clock() end
from unnest(:id::uuid[], :webhook::uuid[], :event_id::text[], :lane::text[], :place::bigint[], :behind::boolean[],
  :skipped::boolean[]) as i(id, webhook, event_id, lane, place, behind, skipped)
order by i.id
on conflict (workspace, id) do nothing

-- name: begin
-- rank: consumers
-- The attempts are written down, and committed, before anything is sent.
with due as materialized (
  select d.id from steadhold.deliveries d
  where d.workspace = :workspace::text and d.webhook = :webhook::uuid and d.next_at <= (select steadhold.clock())
  order by d.next_at, d.id limit case when :pings_only::boolean then 0 else :limit::bigint end
  for update skip locked
), pings as materialized (
  select d.id from steadhold.deliveries d
  where d.workspace = :workspace::text and d.webhook = :webhook::uuid and d.next_at <= (select steadhold.clock())
    and d.kind = 2
  order by d.next_at, d.id limit case when :pings_only::boolean then :limit::bigint else 0 end
  for update skip locked
), taken as (
  update steadhold.deliveries d set attempts = d.attempts + 1, next_at = null
  where d.workspace = :workspace::text and d.id = any(array(select due.id from due union all select pings.id from pings))
  returning d.id, d.attempts, d.event_id, d.kind, d.skipped
), begun as (
  insert into steadhold.attempts (workspace, delivery, n, webhook, started_at, deadline_at)
  select :workspace::text, t.id, t.attempts, :webhook::uuid, c.at, c.at + make_interval(secs => :seconds::float8)
  from taken t cross join (select steadhold.clock() as at) c
  returning delivery, n, started_at
)
select t.id::text, t.attempts, t.event_id, t.kind, t.skipped, b.body, g.started_at, b.trace
from taken t
join begun g on g.delivery = t.id
left join lateral (
  select b.body, b.trace from steadhold.webhook_bodies b
  where b.workspace = :workspace::text and b.event_id = t.event_id
  offset 0  -- found one by one: a join may read all of them
) b on true

-- name: still
-- rank: read
-- Attempts that may still be made: started, and their endpoint enabled at the same address.
select a.delivery::text, a.n from steadhold.attempts a
where a.workspace = :workspace::text and a.webhook = :webhook::uuid and a.state = 0
  and a.deadline_at > (select steadhold.clock())
  and (
    select d.state = 0 and (d.kind = 2 or (
      select k.enabled from steadhold.webhooks k where k.workspace = :workspace::text and k.id = :webhook::uuid))
    from steadhold.deliveries d where d.workspace = :workspace::text and d.id = a.delivery)
  and (
    select not k.deleted and k.url = :url::text from steadhold.webhooks k
    where k.workspace = :workspace::text and k.id = :webhook::uuid)

-- name: end_attempts
-- rank: consumers
-- What has ended stays as it was told first: what comes after the sweep tells nothing any more.
update steadhold.attempts a set state = i.state, ended_at = steadhold.clock(), status = i.status, why = i.why,
  address = i.address, request = i.request, response = i.response, response_body = i.response_body
from unnest(:delivery::uuid[], :n::int[], :state::smallint[], :status::int[], :why::text[], :address::text[],
  :request::text[], :response::text[], :response_body::bytea[])
  as i(delivery, n, state, status, why, address, request, response, response_body)
where a.workspace = :workspace::text and a.delivery = any(:delivery::uuid[])
  and a.delivery = i.delivery and a.n = i.n and a.state = 0
returning a.delivery::text, a.n, a.started_at, a.ended_at

-- name: overdue
-- rank: consumers
select a.delivery::text, a.n, a.webhook::text from steadhold.attempts a
where a.workspace = :workspace::text and a.state = 0 and a.deadline_at <= (select steadhold.clock()) - interval '5 seconds'
order by a.deadline_at limit :limit::bigint

-- name: hold_deliveries
-- rank: consumers
select d.id::text, d.webhook::text, d.event_id, d.kind, d.lane, d.place, d.state, d.attempts, d.tries, d.next_at,
  d.skipped, d.replay_of::text, d.made_at, d.ended_at
from steadhold.deliveries d
where d.workspace = :workspace::text and d.id = any(:ids::uuid[])
order by d.id for update

-- name: move
-- rank: consumers
update steadhold.deliveries d set state = i.state, tries = i.tries,
  next_at = case when i.wait is not null then steadhold.clock() + make_interval(secs => i.wait) end,
  announce_at = case when i.state = 5 then steadhold.clock() + interval '1 day' end,
  ended_at = case when i.state between 1 and 4 then steadhold.clock() end
from unnest(:id::uuid[], :state::smallint[], :tries::int[], :wait::float8[]) as i(id, state, tries, wait)
where d.workspace = :workspace::text and d.id = any(:id::uuid[]) and d.id = i.id

-- name: move_up
-- rank: consumers
-- The first delivery of each lane may be tried, unless it is under way or blocked.
with first as materialized (
  select i.skipped, (
    select f.id from steadhold.deliveries f
    where f.workspace = :workspace::text and f.webhook = :webhook::uuid and f.lane = i.lane and f.state in (0, 5)
    order by f.place, f.id limit 1) as id
  from unnest(:lane::text[], :skipped::int[]) as i(lane, skipped)
)
update steadhold.deliveries d set next_at = steadhold.clock(), skipped = first.skipped
from first
where d.workspace = :workspace::text and d.id = any(array(select f.id from first f)) and d.id = first.id
  and d.state = 0 and d.next_at is null
  and (
    select a.state = 0 from steadhold.attempts a
    where a.workspace = :workspace::text and a.delivery = d.id and a.n = d.attempts) is not true

-- name: resume
-- rank: consumers
-- The first of each lane may be tried where what was before it was ended while the endpoint was disabled.
update steadhold.deliveries d set next_at = steadhold.clock()
where d.workspace = :workspace::text and d.webhook = :id::uuid and d.lane is not null and d.state in (0, 5)
  and d.state = 0 and d.next_at is null
  and not exists (
    select from steadhold.deliveries f
    where f.workspace = :workspace::text and f.webhook = :id::uuid and f.lane = d.lane and f.state in (0, 5)
      and (f.place, f.id) < (d.place, d.id))
  and (
    select a.state = 0 from steadhold.attempts a
    where a.workspace = :workspace::text and a.delivery = d.id and a.n = d.attempts) is not true

-- name: delivery
-- rank: read
select d.id::text, d.webhook::text, d.event_id, d.kind, d.lane, d.place, d.state, d.attempts, d.tries, d.next_at,
  d.skipped, d.replay_of::text, d.made_at, d.ended_at
from steadhold.deliveries d where d.workspace = :workspace::text and d.id = :id::uuid

-- name: deliveries
-- rank: read
select d.id::text, d.webhook::text, d.event_id, d.kind, d.lane, d.place, d.state, d.attempts, d.tries, d.next_at,
  d.skipped, d.replay_of::text, d.made_at, d.ended_at
from steadhold.deliveries d
where d.workspace = :workspace::text and d.webhook = :webhook::uuid
  and (d.made_at, d.id) < (:before::timestamptz, :before_id::uuid)
  and (:state::smallint is null or d.state = :state::smallint)
order by d.made_at desc, d.id desc limit :limit::bigint

-- name: attempts
-- rank: read
select a.n, a.state, a.started_at, a.ended_at, a.status, a.why, a.address, a.request, a.response, a.response_body
from steadhold.attempts a where a.workspace = :workspace::text and a.delivery = :delivery::uuid order by a.n

-- name: replay
-- rank: consumers
insert into steadhold.deliveries (workspace, id, webhook, event_id, kind, lane, place, state, next_at, replay_of, made_at)
select :workspace::text, :id::uuid, :webhook::uuid, :event_id::text, :kind::smallint, :lane::text, :place::bigint, 0,
  steadhold.clock(), :replay_of::uuid, steadhold.clock()

-- name: look_replay
-- rank: read
select r.id::text, r.webhook::text, r.scope, r.since, r.until, r.looked, r.made, r.made_at, r.ended_at, r.state
from steadhold.webhook_replays r where r.workspace = :workspace::text and r.id = :id::uuid

-- name: first_body
-- rank: read
select (select min(b.made_at) from steadhold.webhook_bodies b where b.workspace = :workspace::text),
  steadhold.clock() - make_interval(secs => :kept_seconds::float8)

-- name: begin_replay
-- rank: consumers
insert into steadhold.webhook_replays (workspace, id, webhook, scope, since, until, cursor_at, made_at)
select :workspace::text, :id::uuid, :webhook::uuid, :only::text, :since::timestamptz,
  least(:until::timestamptz, c.at), :since::timestamptz, c.at
from (select steadhold.clock() as at) c

-- name: cancel_replay
-- rank: consumers
update steadhold.webhook_replays r set state = 2, ended_at = steadhold.clock()
where r.workspace = :workspace::text and r.id = :id::uuid and r.state + 0 = 0
returning r.id

-- name: running
-- rank: consumers
-- The one that came least far: of several, none waits for the end of another.
select r.id::text, r.webhook::text, r.scope, r.until, r.cursor_at, r.cursor_id, r.made_at from steadhold.webhook_replays r
where r.workspace = :workspace::text and r.state = 0 order by r.looked, r.id limit 1 for update skip locked

-- name: replayable
-- rank: read
-- The next bodies of events, not of pings, each with what became of its last delivery to this endpoint (null: there was none).
select b.made_at, b.event_id, b.aggregate_id, b.aggregate_revision, b.type, (
    select array_agg(d.state::int) from steadhold.deliveries d
    where d.workspace = :workspace::text and d.event_id = b.event_id and d.webhook = :webhook::uuid and d.kind < 2)
from steadhold.webhook_bodies b
where b.workspace = :workspace::text and (b.made_at, b.event_id) > (:cursor_at::timestamptz, :cursor_id::text)
  and b.made_at <= :until::timestamptz
  and (
    select d.id from steadhold.deliveries d
    where d.workspace = :workspace::text and d.event_id = b.event_id and d.kind = 2 limit 1) is null
order by b.made_at, b.event_id limit :limit::bigint

-- name: deliver_again
-- rank: consumers
insert into steadhold.deliveries (workspace, id, webhook, event_id, kind, place, state, next_at, made_at)
select :workspace::text, i.id, :webhook::uuid, i.event_id, 1, i.place, 0, steadhold.clock(), steadhold.clock()
from unnest(:id::uuid[], :event_id::text[], :place::bigint[]) as i(id, event_id, place)
on conflict (workspace, id) do nothing

-- name: go_on
-- rank: consumers
update steadhold.webhook_replays r set cursor_at = :cursor_at::timestamptz, cursor_id = :cursor_id::text,
  looked = r.looked + :looked::bigint, made = r.made + :made::bigint,
  state = :state::smallint, ended_at = case when :state::smallint > 0 then steadhold.clock() end
where r.workspace = :workspace::text and r.id = :id::uuid

-- name: hold_disabled
-- rank: consumers
-- Nobody enables them while what waits for them is being ended: a lane of which half is ended would stand still.
select k.id::text from steadhold.webhooks k
where k.workspace = :workspace::text and not k.enabled and exists (
  select from steadhold.deliveries d
  where d.workspace = :workspace::text and d.webhook = k.id and d.state in (0, 5) and (d.kind < 2 or k.deleted)
    and (
      select a.state = 0 from steadhold.attempts a
      where a.workspace = :workspace::text and a.delivery = d.id and a.n = d.attempts) is not true
  offset 0)  -- endpoint by endpoint: a join may read all that is open
order by k.id limit :limit::bigint
for share of k

-- name: skip
-- rank: consumers
-- What was to go to an endpoint that is disabled is not sent; what is under way ends by itself. Pings go with the last.
with gone as materialized (
  select d.id from steadhold.webhooks k
  cross join lateral (
    select d.id from steadhold.deliveries d
    where d.workspace = :workspace::text and d.webhook = k.id and d.state in (0, 5) and (d.kind < 2 or k.deleted)
      and (
        select a.state = 0 from steadhold.attempts a
        where a.workspace = :workspace::text and a.delivery = d.id and a.n = d.attempts) is not true
    order by d.id limit :limit::bigint
    for update of d skip locked
  ) d
  where k.workspace = :workspace::text and k.id = any(:ids::uuid[]) and not k.enabled
  limit :limit::bigint
)
update steadhold.deliveries d set state = 4, next_at = null, announce_at = null, ended_at = steadhold.clock()
where d.workspace = :workspace::text and d.id = any(array(select gone.id from gone))
returning d.id

-- name: late
-- rank: read
-- Their turn has not come for as long as deliveries are kept: an endpoint that is slower than its events for ever.
select d.id::text, d.webhook::text from steadhold.webhooks k
cross join lateral (
  select d.id, d.webhook from steadhold.deliveries d
  where d.workspace = :workspace::text and d.webhook = k.id
    and d.next_at < (select steadhold.clock()) - make_interval(secs => :kept_seconds::float8)
  order by d.next_at limit :limit::bigint) d
where k.workspace = :workspace::text
limit :limit::bigint

-- name: hold_late
-- rank: consumers
-- Those of them that nobody has begun meanwhile, by their ids: `coalesce` leaves no index of all that is due.
select d.id::text, d.webhook::text, d.event_id, d.kind, d.lane, d.place, d.state, d.attempts, d.tries, d.next_at,
  d.skipped, d.replay_of::text, d.made_at, d.ended_at
from steadhold.deliveries d
where d.workspace = :workspace::text and d.id = any(:ids::uuid[])
  and coalesce(d.next_at, 'infinity') < (select steadhold.clock()) - make_interval(secs => :kept_seconds::float8)
order by d.id for update

-- name: to_announce
-- rank: read
select b.id::text, b.webhook::text, b.lane from steadhold.deliveries b
where b.workspace = :workspace::text and b.announce_at <= (select steadhold.clock())
order by b.announce_at limit :limit::bigint

-- name: announced
-- rank: consumers
update steadhold.deliveries d set announce_at = steadhold.clock() + interval '1 day'
where d.workspace = :workspace::text and d.id = :id::uuid and d.announce_at <= steadhold.clock()
returning d.id

-- name: purge_deliveries
-- rank: consumers
with old as materialized (
  select d.id from steadhold.deliveries d
  where d.workspace = :workspace::text and d.ended_at < (select steadhold.clock()) - make_interval(secs => :kept_seconds::float8)
    and (
      select max(a.n) from steadhold.attempts a
      where a.workspace = :workspace::text and a.delivery = d.id and a.state = 0) is null
  order by d.ended_at limit :limit::bigint for update skip locked
), tried as (
  delete from steadhold.attempts a
  where a.workspace = :workspace::text and a.delivery = any(array(select old.id from old))
)
delete from steadhold.deliveries d
where d.workspace = :workspace::text and d.id = any(array(select old.id from old))
returning d.id

-- name: purge_bodies
-- rank: consumers
delete from steadhold.webhook_bodies b
where b.workspace = :workspace::text and b.event_id = any(array(
    select o.event_id from steadhold.webhook_bodies o
    where o.workspace = :workspace::text
      and o.made_at < (select steadhold.clock()) - make_interval(secs => :kept_seconds::float8 + 3600)
      and (
        select d.id from steadhold.deliveries d
        where d.workspace = :workspace::text and d.event_id = o.event_id limit 1) is null
      and (
        select r.id from steadhold.webhook_replays r
        where r.workspace = :workspace::text and r.state = 0 limit 1) is null
    order by o.made_at limit :limit::bigint))
returning b.event_id

-- name: purge_replays
-- rank: consumers
delete from steadhold.webhook_replays r
where r.workspace = :workspace::text and r.id = any(array(
    select o.id from steadhold.webhook_replays o
    where o.workspace = :workspace::text
      and o.ended_at < (select steadhold.clock()) - make_interval(secs => :kept_seconds::float8)
    order by o.ended_at limit :limit::bigint))
returning r.id

-- name: purge_webhooks
-- rank: consumers
-- What was deleted goes once nothing tells of it any more.
delete from steadhold.webhooks k
where k.workspace = :workspace::text and k.id = any(array(
    select o.id from steadhold.webhooks o
    where o.workspace = :workspace::text and o.deleted
      and o.changed_at < (select steadhold.clock()) - make_interval(secs => :kept_seconds::float8)
      and (
        select d.id from steadhold.deliveries d
        where d.workspace = :workspace::text and d.webhook = o.id limit 1) is null
    order by o.changed_at limit :limit::bigint))
returning k.id

-- name: free
-- rank: read
-- How many attempts are under way, by whomever, and when the endpoint's rate lets the next begin.
select (
    select count(*) from steadhold.attempts a
    where a.workspace = :workspace::text and a.webhook = :webhook::uuid and a.state = 0),
  steadhold.clock(), k.free_at
from steadhold.webhooks k
where k.workspace = :workspace::text and k.id = :webhook::uuid

-- name: spend
-- rank: consumers
update steadhold.webhooks k set free_at = :free_at::timestamptz
where k.workspace = :workspace::text and k.id = :webhook::uuid

-- name: glance
-- rank: read
-- Endpoints that are enabled, and those that are unwell: failing or paused, or switched off because they failed.
with looked_at as materialized (
  select w.id, w.url, w.enabled, w.why, w.failures, w.failing_since, w.paused_until from steadhold.webhooks w
  where w.workspace = :workspace::text and not w.deleted order by w.id limit :most::bigint
)
select (select count(*) from looked_at where enabled), s.id::text, s.url, s.enabled, s.why, s.failures
from (select 1) one left join (
  select * from looked_at
  where (enabled and (failing_since is not null or paused_until > steadhold.clock())) or why in ('failing', 'gone')
  order by failures desc, id limit :shown::bigint) s on true
