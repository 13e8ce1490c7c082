-- name: taken
-- rank: read by event_id
select i.n, e.aggregate_id, e.aggregate_revision
from unnest(:event_id::text[]) with ordinality as i(event_id, n)
join steadhold.events e on e.workspace = :workspace::text and e.event_id = any(:event_id::text[])
  and e.event_id = i.event_id

-- name: history
-- rank: read
-- Ends with the event with which the data of all reaches `bytes`; each row says how many there would be without that.
select x.aggregate_id, x.aggregate_revision, x.event_id, x.schema_version, x.occurred_at, x.type, x.data_ref, x.data,
  x.correlation_id, x.causation_id, x.found
from (
  select e.*, count(*) over () as found,
    sum(octet_length(e.data)) over (order by e.aggregate_revision rows between unbounded preceding and 1 preceding) as before
  from (
    select * from steadhold.events e
    where e.workspace = :workspace::text and e.aggregate_id = :aggregate_id::text
      and e.aggregate_revision > :after::bigint
    order by e.aggregate_revision
    limit :limit::bigint
  ) e
) x where :bytes::bigint is null or coalesce(x.before, 0) < :bytes::bigint
order by x.aggregate_revision

-- name: first_kept
-- rank: read
select coalesce(
  (select min(e.aggregate_revision) from steadhold.events e
   where e.workspace = :workspace::text and e.aggregate_id = :aggregate_id::text),
  (select a.revision + 1 from steadhold.aggregates a
   where a.workspace = :workspace::text and a.aggregate_id = :aggregate_id::text),
  steadhold.house_stands(:workspace::text, :aggregate_id::text) + 1)

-- name: at
-- rank: read
select e.aggregate_id, e.aggregate_revision, e.event_id, e.schema_version, e.occurred_at, e.type, e.data_ref, e.data,
  e.correlation_id, e.causation_id
from steadhold.events e
where e.workspace = :workspace::text and e.aggregate_id = :aggregate_id::text
  and e.aggregate_revision = :aggregate_revision::bigint and e.event_id is null

-- name: named
-- rank: read
select e.aggregate_id, e.aggregate_revision, e.event_id, e.schema_version, e.occurred_at, e.type, e.data_ref, e.data,
  e.correlation_id, e.causation_id
from steadhold.events e where e.workspace = :workspace::text and e.event_id = :event_id::text

-- name: purge
-- rank: read
-- Removes events past their window; what somebody else is removing is passed over, so it waits for nobody.
select steadhold.purge_events(:workspace::text, :kept_seconds::float8, :limit::bigint)

-- name: forget
-- rank: read
-- Removes the events of jobs that are being purged: nobody else touches them any more.
select steadhold.forget_events(:workspace::text, :aggregate_ids::text[])

-- name: require
-- rank: aggregates by aggregate_id
-- Keeps aggregates where they are until commit. As strong as a move takes them, so that nobody has to wait to become so.
with i as materialized (
  select * from unnest(:aggregate_id::text[]) with ordinality as i(aggregate_id, n)
), locked as materialized (
  select a.aggregate_id, a.revision from steadhold.aggregates a
  where a.workspace = :workspace::text and a.aggregate_id = any(:aggregate_id::text[])
  order by a.aggregate_id for no key update
)
select i.n, l.revision from i join locked l using (aggregate_id)

-- name: hold_name
-- rank: aggregates by event_id
-- Holds ids that events are to have, until commit: who comes second waits here, and then sees the first's event.
select i.n, pg_advisory_xact_lock(hashtextextended(:workspace::text || '/' || i.event_id, 4185))::text
from (select * from unnest(:event_id::text[]) with ordinality as i(event_id, n) order by event_id offset 0) i

-- name: hold_refs
-- rank: blobs by data_ref
-- Whether what events refer to is kept; its bytes stay until commit, so that they can be pinned. See migration 0022.
select i.n, steadhold.hold_reference(:workspace::text, i.data_ref)
from (select * from unnest(:data_ref::text[]) with ordinality as i(data_ref, n) order by data_ref offset 0) i

-- name: pin_refs
-- rank: aggregates by event_id
-- Its bytes are held, so that this waits for nobody.
select i.n, steadhold.pin_reference(:workspace::text, 'event:' || i.event_id, i.data_ref)::text
from unnest(:event_id::text[], :data_ref::text[]) with ordinality as i(event_id, data_ref, n)

-- name: create
-- rank: aggregates by aggregate_id
-- Creates aggregates; of several with one id the first wins, and whoever is creating one is waited for.
with i as materialized (
  select * from unnest(:aggregate_id::text[], :aggregate_type::text[], :state::text[], :owner::text[], :count::int[])
    with ordinality as i(aggregate_id, aggregate_type, state, owner, count, n)
), first as materialized (
  select distinct on (aggregate_id) * from i order by aggregate_id, n
), made as (
  insert into steadhold.aggregates as a (workspace, aggregate_id, aggregate_type, state, owner, revision)
  select :workspace::text, aggregate_id, aggregate_type, state, owner,
    ((select h.incarnation from steadhold.house h where h.single) << 32) + count
  from first order by aggregate_id
  on conflict (workspace, aggregate_id) do nothing
  returning a.aggregate_id, a.revision
)
select i.n, m.revision from i join first on first.n = i.n join made m on m.aggregate_id = i.aggregate_id

-- name: advance
-- rank: aggregates by aggregate_id
-- Moves aggregates that are where they are expected; of several that expect the same the first wins.
with i as materialized (
  select * from unnest(:aggregate_id::text[], :expected::bigint[], :from_state::text[], :state::text[], :owner::text[],
      :count::int[])
    with ordinality as i(aggregate_id, expected, from_state, state, owner, count, n)
), locked as materialized (
  select a.aggregate_id, a.revision, a.state, a.owner from steadhold.aggregates a
  where a.workspace = :workspace::text and a.aggregate_id = any(:aggregate_id::text[])
  order by a.aggregate_id for no key update
), fit as materialized (
  select distinct on (i.aggregate_id) i.* from i join locked l on l.aggregate_id = i.aggregate_id
  where l.revision = i.expected and (i.from_state is null or l.state = i.from_state) and l.owner is not distinct from i.owner
  order by i.aggregate_id, i.n
), moved as (
  update steadhold.aggregates a set
    revision = greatest(a.revision, (select h.incarnation from steadhold.house h where h.single) << 32) + fit.count,
    state = coalesce(fit.state, a.state)
  from fit where a.workspace = :workspace::text and a.aggregate_id = any(:aggregate_id::text[])
    and a.aggregate_id = fit.aggregate_id
  returning fit.n, a.revision
)
select n, revision from moved

-- name: record
-- rank: aggregates by aggregate_id, aggregate_revision
-- Writes history. Where nobody takes the workspace's events, nothing has to be matched: the window begins here.
insert into steadhold.events (workspace, aggregate_id, aggregate_revision, event_id, schema_version, occurred_at, type,
  data_ref, data, correlation_id, causation_id, trace, matched_at)
select :workspace::text, aggregate_id, aggregate_revision, event_id, schema_version, steadhold.clock(), type, data_ref,
  data, correlation_id, causation_id, trace,
  case when not (select steadhold.events_wanted(:workspace::text)) then steadhold.clock() end
from unnest(:aggregate_id::text[], :aggregate_revision::bigint[], :event_id::text[], :schema_version::int[], :type::text[],
    :data_ref::text[], :data::bytea[], :correlation_id::text[], :causation_id::text[], :trace::text[])
  with ordinality as i(aggregate_id, aggregate_revision, event_id, schema_version, type, data_ref, data, correlation_id,
    causation_id, trace, n)
order by n

-- name: aggregate
-- rank: read by aggregate_id
select i.n, a.aggregate_id, a.aggregate_type, a.revision, a.state, a.owner
from unnest(:aggregate_id::text[]) with ordinality as i(aggregate_id, n)
join steadhold.aggregates a on a.workspace = :workspace::text and a.aggregate_id = any(:aggregate_id::text[])
  and a.aggregate_id = i.aggregate_id

-- name: move
-- rank: heads by subject
-- Says where subjects stand. Of several for one subject the highest revision counts, and none goes back.
with i as materialized (
  select distinct on (subject) subject, revision, state, open, of
  from unnest(:subject::text[], :revision::bigint[], :state::text[], :open::bool[], :of::text[])
    with ordinality as i(subject, revision, state, open, of, n)
  order by subject, revision desc
)
insert into steadhold.heads as h (workspace, subject, revision, state, open, of)
select :workspace::text, subject, revision, state, open, of from i order by subject
on conflict (workspace, subject) do update set
  revision = excluded.revision, state = excluded.state, open = excluded.open, of = excluded.of
where h.revision < excluded.revision

-- name: hold
-- rank: heads by subject
-- Reads where a subject stands and keeps it there until commit: whoever wants to change it waits, and then sees
-- what was written here. A subject that nobody has said anything of has no answer, and nothing holds it.
with i as materialized (
  select * from unnest(:subject::text[]) with ordinality as i(subject, n)
), locked as materialized (
  select h.subject, h.revision, h.state, h.open, h.of from steadhold.heads h
  where h.workspace = :workspace::text and h.subject = any(:subject::text[])
  order by h.subject for share
)
select i.n, l.subject, l.revision, l.state, l.open, l.of from i join locked l using (subject)

-- name: head
-- rank: read by subject
select i.n, h.subject, h.revision, h.state, h.open, h.of
from unnest(:subject::text[]) with ordinality as i(subject, n)
join steadhold.heads h on h.workspace = :workspace::text and h.subject = any(:subject::text[]) and h.subject = i.subject

-- name: heads_of
-- rank: read
select h.subject, h.revision, h.state, h.open, h.of
from steadhold.heads h where h.workspace = :workspace::text and h.of = :of::text order by h.subject

-- name: drop_heads
-- rank: heads by subject
delete from steadhold.heads h
using unnest(:subject::text[]) with ordinality as i(subject, n)
where h.workspace = :workspace::text and h.subject = any(:subject::text[]) and h.subject = i.subject

-- name: wait
-- rank: heads by job_id
-- A job waits for one thing at a time: its newest wait is its wait.
insert into steadhold.waits as w (workspace, job_id, subject, stage, until, due_at, what)
select distinct on (job_id) :workspace::text, job_id, subject, stage, until, until, what
from unnest(:job_id::uuid[], :subject::text[], :stage::text[], :until::timestamptz[], :what::bytea[])
  with ordinality as i(job_id, subject, stage, until, what, n)
order by job_id, n desc
on conflict (workspace, job_id) do update set
  subject = excluded.subject, stage = excluded.stage, until = excluded.until, due_at = excluded.due_at,
  what = excluded.what, happened = false

-- name: settled
-- rank: heads by subject
-- Marks the waits for subjects due, in the transaction of whoever changed them.
with due as materialized (
  select w.job_id from steadhold.waits w
  where w.workspace = :workspace::text and not w.happened
    and w.subject = any(:subject::text[])
  order by w.job_id for no key update
)
update steadhold.waits w set happened = true, due_at = steadhold.clock()
from due
where w.workspace = :workspace::text and w.job_id = any(array(select due.job_id from due)) and w.job_id = due.job_id

-- name: due
-- rank: read
select w.job_id from steadhold.waits w
where w.workspace = :workspace::text and w.due_at <= (select steadhold.clock())
order by w.due_at limit :limit::bigint

-- name: take
-- rank: heads by job_id
-- Takes waits that are due away, for whoever holds the jobs' rows. Tested under the lock of the wait itself: it may
-- have been marked, or replaced, since it was listed.
with locked as materialized (
  select i.n, w.job_id, w.stage, w.due_at, w.happened, w.what
  from (select * from unnest(:job_id::uuid[]) with ordinality as i(job_id, n)) i
  join steadhold.waits w on w.workspace = :workspace::text and w.job_id = any(:job_id::uuid[]) and w.job_id = i.job_id
  order by w.job_id for update of w
), due as materialized (
  select * from locked where due_at <= steadhold.clock()
), taken as (
  delete from steadhold.waits w using due
  where w.workspace = :workspace::text and w.job_id = any(:job_id::uuid[]) and w.job_id = due.job_id
)
select n, job_id, stage, happened, what from due

-- name: unwait
-- rank: heads by job_id
delete from steadhold.waits w
using unnest(:job_id::uuid[]) with ordinality as i(job_id, n)
where w.workspace = :workspace::text and w.job_id = any(:job_id::uuid[]) and w.job_id = i.job_id

-- name: want
-- rank: aggregates
-- From this commit on nothing is written as matched. See migration 0015.
select steadhold.want_events(:workspace::text, :taker::text, :patience_ms::bigint)

-- name: taker_held
-- rank: aggregates
select 1 from steadhold.event_takers t
where t.workspace = :workspace::text and t.taker = any(array[:taker::text]) for update

-- name: unwant
-- rank: aggregates
delete from steadhold.event_takers t where t.workspace = :workspace::text and t.taker = :taker::text

-- name: subscription_held
-- rank: aggregates
select s.revision, s.deleted, s.ending from steadhold.subscriptions s
where s.workspace = :workspace::text and s.subscription = any(array[:subscription::text]) for update

-- name: subscribe
-- rank: aggregates
-- A deleted one goes on from its revision. One that somebody else makes at this moment is waited for, and wins.
insert into steadhold.subscriptions as s (workspace, subscription, revision, told, types, aggregates, target, ordered,
  made_at, changed_at)
select :workspace::text, :subscription::text, (h.incarnation << 32) + 1, (h.incarnation << 32) + 1, :types::text[],
  :aggregates::text[], :target::text, :ordered::bool, steadhold.clock(), steadhold.clock()
from steadhold.house h where h.single
on conflict (workspace, subscription) do update set
  revision = greatest(s.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  told = greatest(s.told, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  types = excluded.types, aggregates = excluded.aggregates, target = excluded.target, ordered = excluded.ordered,
  made_at = case when s.deleted then excluded.made_at else s.made_at end, changed_at = excluded.changed_at, deleted = false
where s.revision = :expected::bigint
returning s.told, s.subscription, s.revision, s.types, s.target, s.aggregates, s.ordered, s.made_at, s.changed_at

-- name: unsubscribe
-- rank: aggregates
-- `ending`: more is on its way to it, and is skipped step by step.
update steadhold.subscriptions s set deleted = true, announce_at = null, changed_at = steadhold.clock(),
  ending = exists (select from steadhold.publications p
    where p.workspace = :workspace::text and p.state < 3 and p.subscription = :subscription::text),
  revision = greatest(s.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  told = greatest(s.told, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
where s.workspace = :workspace::text and s.subscription = any(array[:subscription::text])
returning s.revision, s.told

-- name: subscription
-- rank: read
select s.subscription, s.revision, s.types, s.target, s.aggregates, s.ordered, s.made_at, s.changed_at, s.deleted
from steadhold.subscriptions s
where s.workspace = :workspace::text and s.subscription = any(array[:subscription::text])

-- name: subscription_kept
-- rank: aggregates
-- Held, so that a deletion waits and then finds what was written for it.
select 1 from steadhold.subscriptions s
where s.workspace = :workspace::text and s.subscription = any(array[:subscription::text]) and not s.deleted for key share

-- name: subscriptions
-- rank: read
select s.subscription, s.revision, s.types, s.target, s.aggregates, s.ordered, s.made_at, s.changed_at
from steadhold.subscriptions s
where s.workspace = :workspace::text and s.subscription > :after::text and not s.deleted
order by s.subscription limit :limit::bigint

-- name: subscriptions_count
-- rank: read
select count(*) from steadhold.subscriptions s where s.workspace = :workspace::text and not s.deleted

-- name: matching
-- rank: read
-- One matches in a workspace at a time: so a revision gets its publication no later than the next one of its aggregate.
select pg_try_advisory_xact_lock(hashtextextended(:workspace::text, 4184))

-- name: unmatched
-- rank: aggregates
-- The oldest events that nobody has matched, and whatever else of their aggregates comes before them (the clock may have
-- been set back meanwhile). There is no cursor: what commits late is simply there later.
with oldest as materialized (
  select e.aggregate_id, e.aggregate_revision from steadhold.events e
  where e.workspace = :workspace::text and e.matched_at is null
  order by e.occurred_at limit :limit::bigint
), upto as materialized (
  select aggregate_id, max(aggregate_revision) as revision from oldest group by aggregate_id
)
select e.aggregate_id, e.aggregate_revision, e.event_id, e.schema_version, e.occurred_at, e.type, e.data_ref, e.data,
  e.correlation_id, e.causation_id, coalesce(e.trace, steadhold.trace_of(:workspace::text, e.aggregate_id))
from upto cross join lateral (
  select e.* from steadhold.events e
  where e.workspace = :workspace::text and e.aggregate_id = upto.aggregate_id
    and e.aggregate_revision <= upto.revision and e.matched_at is null
  order by e.aggregate_revision for no key update
) e
order by e.aggregate_id, e.aggregate_revision

-- name: subscribed
-- rank: aggregates
-- After the events: so whoever subscribed before one of them committed is seen. Held, so that a deletion waits and then
-- finds what was written for it.
select s.subscription, s.revision, s.types, s.target, s.aggregates, s.ordered, s.made_at, s.changed_at
from steadhold.subscriptions s
where s.workspace = :workspace::text and not s.deleted order by s.subscription for key share

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

-- name: matched
-- rank: aggregates by aggregate_id, aggregate_revision
-- `open`: something of it is to be published, so its window has not begun.
update steadhold.events e set matched_at = case when i.open then 'infinity' else steadhold.clock() end
from unnest(:aggregate_id::text[], :aggregate_revision::bigint[], :open::bool[])
  with ordinality as i(aggregate_id, aggregate_revision, open, n)
where e.workspace = :workspace::text and e.aggregate_id = any(:aggregate_id::text[])
  and e.aggregate_id = i.aggregate_id and e.aggregate_revision = i.aggregate_revision

-- name: due_again
-- rank: aggregates
-- What waited for its time, and whose time has come, has its turn. What somebody else holds is left to them.
with due as materialized (
  select p.id from steadhold.publications p
  where p.workspace = :workspace::text and p.state = 1 and p.apart and p.next_at <= (select steadhold.clock())
  order by p.next_at limit :limit::bigint for no key update skip locked
)
update steadhold.publications p set apart = false
where p.workspace = :workspace::text and p.id = any(array(select due.id from due))

-- name: lanes
-- rank: read
-- The lanes in which something is not set apart.
with recursive lane as (
  (select p.target, p.lane from steadhold.publications p
   where p.workspace = :workspace::text and p.state < 3 and p.apart is not true order by p.target, p.lane limit 1)
  union all
  select n.target, n.lane from lane cross join lateral (
    select p.target, p.lane from steadhold.publications p
    where p.workspace = :workspace::text and p.state < 3 and p.apart is not true
      and (p.target, p.lane) > (lane.target, lane.lane)
    order by p.target, p.lane limit 1) n
)
select lane.target, lane.lane from lane

-- name: ready
-- rank: read
-- The first open publications of the keys of which something is not set apart, behind `after`; of each whether it may be
-- published now.
with recursive head as (
  (select p.key from steadhold.publications p
   where p.workspace = :workspace::text and p.target = :target::text and p.lane = :lane::smallint and p.key > :after::text
     and p.state < 3 and p.apart is not true
   order by p.key limit 1)
  union all
  select n.key from head cross join lateral (
    select p.key from steadhold.publications p
    where p.workspace = :workspace::text and p.target = :target::text and p.lane = :lane::smallint and p.key > head.key
      and p.state < 3 and p.apart is not true
    order by p.key limit 1) n
)
select p.key, p.aggregate_id, p.aggregate_revision, p.subscription,
  p.state = 0 or p.state = 1 and p.next_at <= steadhold.clock()
from (select head.key from head limit :keys::bigint) k
cross join lateral (
  select e.* from (
    (select p.* from steadhold.publications p
     where p.workspace = :workspace::text and p.target = :target::text and p.lane = :lane::smallint and p.key = k.key
       and p.state < 3 and p.apart is not true
     order by p.aggregate_revision, p.subscription limit :each::bigint)
    union all
    (select p.* from steadhold.publications p
     where p.workspace = :workspace::text and p.target = :target::text and p.lane = :lane::smallint and p.key = k.key
       and p.state < 3 and p.apart
     order by p.aggregate_revision, p.subscription limit :each::bigint)
  ) e
  order by e.aggregate_revision, e.subscription limit :each::bigint
) p
order by p.key, p.aggregate_revision, p.subscription

-- name: event_held
-- rank: aggregates by aggregate_id, aggregate_revision
-- An event's row before its publications': whoever changes both takes them so.
with i as materialized (
  select * from unnest(:aggregate_id::text[], :aggregate_revision::bigint[])
    with ordinality as i(aggregate_id, aggregate_revision, n)
), locked as materialized (
  select e.* from steadhold.events e
  where e.workspace = :workspace::text and e.aggregate_id = any(:aggregate_id::text[])
    and (e.aggregate_id, e.aggregate_revision) in (select i.aggregate_id, i.aggregate_revision from i)
  order by e.aggregate_id, e.aggregate_revision for no key update
)
select i.n, e.aggregate_id, e.aggregate_revision, e.event_id, e.schema_version, e.occurred_at, e.type, e.data_ref, e.data,
  e.correlation_id, e.causation_id, coalesce(e.trace, steadhold.trace_of(:workspace::text, e.aggregate_id))
from i join locked e using (aggregate_id, aggregate_revision)

-- name: publication_held
-- rank: aggregates by aggregate_id, aggregate_revision, subscription
with i as materialized (
  select * from unnest(:aggregate_id::text[], :aggregate_revision::bigint[], :subscription::text[])
    with ordinality as i(aggregate_id, aggregate_revision, subscription, n)
), locked as materialized (
  select p.* from steadhold.publications p
  where p.workspace = :workspace::text and p.aggregate_id = any(:aggregate_id::text[])
    and (p.aggregate_id, p.aggregate_revision, p.subscription) in
      (select i.aggregate_id, i.aggregate_revision, i.subscription from i)
  order by p.aggregate_id, p.aggregate_revision, p.subscription for no key update
)
select i.n, p.id, p.subscription, p.target, p.key, p.attempts, p.state
from i join locked p using (aggregate_id, aggregate_revision, subscription)

-- name: published
-- rank: aggregates
-- What is open of these has been published, and what comes next was let in when they were claimed.
update steadhold.publications p set state = 3, settled_at = steadhold.clock(), next_at = null, why = null, apart = null
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
    state = case when i.seconds is null then 2 else 1 end, apart = true,
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

-- name: set_apart
-- rank: aggregates
-- These, if they wait, and what stands behind them: some of it now, and the rest when it is
-- met again. Of that, what waited for its own time waits behind them from here on. Nobody is waited for.
with line as materialized (
  select b.id from steadhold.publications h cross join lateral (
    select p.id from steadhold.publications p
    where p.workspace = :workspace::text and p.target = h.target and p.lane = h.lane and p.key = h.key
      and p.state < 3 and p.apart is not true
      and (p.aggregate_revision, p.subscription) >= (h.aggregate_revision, h.subscription)
    order by p.aggregate_revision, p.subscription limit :each::bigint
    for no key update skip locked) b
  where h.workspace = :workspace::text and h.id = any(:ids::uuid[]) and h.state in (1, 2)
)
update steadhold.publications p set apart = true,
  state = case when p.state = 1 and p.id <> all(:ids::uuid[]) then 0 else p.state end,
  next_at = case when p.id = any(:ids::uuid[]) then p.next_at end
where p.workspace = :workspace::text and p.id = any(array(select line.id from line))

-- name: let_in
-- rank: aggregates
-- What comes next once all before it has been published.
update steadhold.publications p set apart = false
where p.workspace = :workspace::text and p.id = any(:ids::uuid[]) and p.apart

-- name: let_in_behind
-- rank: aggregates
-- What is set apart right behind these, which have ended: who ended them may not have seen it. As `let_in()` does.
with behind as materialized (
  select b.id, b.state from (
    select e.* from steadhold.publications e
    where e.workspace = :workspace::text and e.id = any(:ids::uuid[])
    order by e.aggregate_id, e.aggregate_revision, e.subscription offset 0) h
  cross join lateral (
    select p.id, p.state from steadhold.publications p
    where p.workspace = :workspace::text and p.target = h.target and p.lane = h.lane and p.key = h.key
      and p.state < 3 and p.apart
      and (p.aggregate_revision, p.subscription) > (h.aggregate_revision, h.subscription)
    order by p.aggregate_revision, p.subscription limit 1
    for no key update) b
)
update steadhold.publications p set apart = false
where p.workspace = :workspace::text and p.id = any(array(select behind.id from behind where behind.state = 0))

-- name: ended
-- rank: aggregates by aggregate_id, aggregate_revision
-- The window of an event begins when nothing of it is open any more.
update steadhold.events e set matched_at = steadhold.clock()
from unnest(:aggregate_id::text[], :aggregate_revision::bigint[])
  with ordinality as i(aggregate_id, aggregate_revision, n)
where e.workspace = :workspace::text and e.aggregate_id = any(:aggregate_id::text[])
  and e.aggregate_id = i.aggregate_id and e.aggregate_revision = i.aggregate_revision and e.matched_at = 'infinity'
  and not exists (
    select from steadhold.publications p
    where p.workspace = :workspace::text and p.aggregate_id = any(:aggregate_id::text[])
      and p.aggregate_id = e.aggregate_id and p.aggregate_revision = e.aggregate_revision and p.state + 0 < 3)

-- name: open_of
-- rank: read
-- Under way to whatever target: a subscription may have had another before.
select p.aggregate_id, p.aggregate_revision, p.subscription, p.id from steadhold.publications p
where p.workspace = :workspace::text and p.state < 3 and p.subscription = :subscription::text limit :limit::bigint

-- name: ending
-- rank: read
-- A subscription that was deleted and has more on its way to it.
select s.subscription from steadhold.subscriptions s
where s.workspace = :workspace::text and s.ending order by s.subscription limit 1

-- name: has_ended
-- rank: aggregates
-- Nothing of it is on its way any more, or a replay that came before its end has left something: then it goes on.
update steadhold.subscriptions s set ending = false
where s.workspace = :workspace::text and s.subscription = any(array[:subscription::text]) and not exists (
  select from steadhold.publications p
  where p.workspace = :workspace::text and p.state < 3 and p.subscription = :subscription::text)

-- name: gone
-- rank: aggregates by subscription
-- Which subscriptions have ended. Held, so that nothing is published to one once its deletion was answered.
with i as materialized (
  select * from unnest(:subscription::text[]) with ordinality as i(subscription, n)
), locked as materialized (
  select s.subscription, s.ending from steadhold.subscriptions s
  where s.workspace = :workspace::text and s.subscription = any(:subscription::text[])
  order by s.subscription for key share
)
select i.n, l.ending from i join locked l using (subscription)

-- name: skip
-- rank: aggregates
update steadhold.publications p set state = 4, settled_at = steadhold.clock(), next_at = null
where p.workspace = :workspace::text and p.id = any(:ids::uuid[]) and p.state < 3

-- name: again
-- rank: aggregates
-- An operator's retry: its attempts begin anew.
update steadhold.publications p set state = 0, attempts = 0, next_at = null
where p.workspace = :workspace::text and p.id = any(:ids::uuid[]) and p.state < 3

-- name: publication
-- rank: read
select p.id, p.subscription, p.target, p.aggregate_id, p.aggregate_revision, p.state, p.attempts, p.next_at, p.why, p.made_at,
  p.settled_at
from steadhold.publications p where p.workspace = :workspace::text and p.id = any(array[:id::uuid])

-- name: publications
-- rank: read
select p.id, p.subscription, p.target, p.aggregate_id, p.aggregate_revision, p.state, p.attempts, p.next_at, p.why, p.made_at,
  p.settled_at
from steadhold.publications p
where p.workspace = :workspace::text and p.state < 3 and p.state = :state::smallint
  and (p.made_at, p.id) > (timestamptz 'epoch' + :microseconds::bigint * interval '1 microsecond', :after::uuid)
order by p.made_at, p.id limit :limit::bigint

-- name: parked_count
-- rank: read
select count(*) from steadhold.publications p
where p.workspace = :workspace::text and p.state < 3 and p.state = 2
  and (:subscription::text is null or p.subscription = :subscription::text)

-- name: parked_first
-- rank: read
select p.aggregate_id, p.aggregate_revision, p.subscription from steadhold.publications p
where p.workspace = :workspace::text and p.state < 3 and p.state = 2
  and (:subscription::text is null or p.subscription = :subscription::text)
order by p.made_at, p.id limit :limit::bigint

-- name: horizons
-- rank: read
-- Up to when events were removed. Read once what is to be published again is held: nothing of that is removed any more.
select h.jobs, h.removed_to from steadhold.event_horizons h where h.workspace = :workspace::text

-- name: replayable
-- rank: read
-- What a replay may publish again: events that are kept and matched, from a place on.
select e.aggregate_id, e.aggregate_revision, e.event_id, e.schema_version, e.occurred_at, e.type, e.data_ref, null::bytea,
  e.correlation_id, e.causation_id
from steadhold.events e
where e.workspace = :workspace::text and e.matched_at is not null
  and e.occurred_at >= :first::timestamptz and e.occurred_at < :until::timestamptz
  and (e.aggregate_id, e.aggregate_revision) > (:aggregate_id::text, :aggregate_revision::bigint)
order by e.aggregate_id, e.aggregate_revision limit :limit::bigint

-- name: to_announce
-- rank: aggregates
select s.subscription, greatest(s.told, (select h.incarnation << 32 from steadhold.house h where h.single))
from steadhold.subscriptions s
where s.workspace = :workspace::text and s.announce_at <= (select steadhold.clock())
order by s.subscription limit :limit::bigint for no key update skip locked

-- name: parked
-- rank: read by subscription
select i.n, count(*), min(p.id::text), min(p.why) from unnest(:subscription::text[]) with ordinality as i(subscription, n)
join steadhold.publications p on p.workspace = :workspace::text and p.state = 2 and p.subscription = i.subscription
group by i.n

-- name: announced
-- rank: aggregates by subscription
update steadhold.subscriptions s set told = coalesce(i.told, s.told),
  announce_at = case when i.told is not null then steadhold.clock() + interval '1 day' end
from unnest(:subscription::text[], :told::bigint[]) with ordinality as i(subscription, told, n)
where s.workspace = :workspace::text and s.subscription = any(:subscription::text[]) and s.subscription = i.subscription

-- name: aggregates
-- rank: read
select a.aggregate_id, a.aggregate_type, a.revision, a.state, a.owner from steadhold.aggregates a
where a.workspace = :workspace::text and a.aggregate_id > :after::text order by a.aggregate_id limit :limit::bigint

-- name: make_type
-- rank: aggregates
insert into steadhold.aggregate_types as t (workspace, aggregate_type, revision, states, edges_from, edges_to, changed_at)
values (:workspace::text, :aggregate_type::text, ((select h.incarnation from steadhold.house h where h.single) << 32) + 1,
  :states::text[], :edges_from::text[], :edges_to::text[], steadhold.clock())
on conflict (workspace, aggregate_type) do nothing
returning t.aggregate_type, t.revision, t.states, t.edges_from, t.edges_to

-- name: change_type
-- rank: aggregates
update steadhold.aggregate_types t set
  revision = greatest(t.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  states = :states::text[], edges_from = :edges_from::text[], edges_to = :edges_to::text[], changed_at = steadhold.clock()
where t.workspace = :workspace::text and t.aggregate_type = any(array[:aggregate_type::text])
  and t.revision = :expected::bigint
returning t.aggregate_type, t.revision, t.states, t.edges_from, t.edges_to

-- name: aggregate_type
-- rank: read
select t.aggregate_type, t.revision, t.states, t.edges_from, t.edges_to from steadhold.aggregate_types t
where t.workspace = :workspace::text and t.aggregate_type = any(array[:aggregate_type::text])

-- name: types
-- rank: read
select t.aggregate_type, t.revision, t.states, t.edges_from, t.edges_to from steadhold.aggregate_types t
where t.workspace = :workspace::text and t.aggregate_type > :after::text order by t.aggregate_type limit :limit::bigint

-- name: glance
-- rank: read
-- planned anew: each part is a step or a bounded walk of an index, however many events there are
-- For how long the oldest event waits to be matched, and the oldest publication to be published; what is open, by state.
with now as materialized (
  select steadhold.clock() as at
)
select
  greatest(extract(epoch from (select at from now) - (select min(e.occurred_at) from steadhold.events e
    where e.workspace = :workspace::text and e.matched_at is null)), 0)::float8,
  greatest(extract(epoch from (select at from now) - (select min(p.made_at) from steadhold.publications p
    where p.workspace = :workspace::text and p.state = 0)), 0)::float8,
  (select count(*) from (select from steadhold.publications p
    where p.workspace = :workspace::text and p.state = 0 limit :most::bigint) c),
  (select count(*) from (select from steadhold.publications p
    where p.workspace = :workspace::text and p.state = 1 limit :most::bigint) c),
  (select count(*) from (select from steadhold.publications p
    where p.workspace = :workspace::text and p.state = 2 limit :most::bigint) c)

-- name: glance_matched
-- rank: read
-- planned anew: as `glance`
-- How many events, jobs' own left out, were matched in each of the last minutes, the oldest first.
select c.matched
from (select steadhold.clock() as at offset 0) now
cross join generate_series(:minutes::int - 1, 0, -1) g(ago) cross join lateral (
  select count(*) from (
    select from steadhold.events e
    where e.workspace = :workspace::text and e.matched_at is not null and not starts_with(e.aggregate_id, 'job:')
      and e.matched_at > now.at - make_interval(mins => g.ago + 1) and e.matched_at <= now.at - make_interval(mins => g.ago)
    limit :most::bigint) m
) c(matched)
order by g.ago desc
