-- name: taken
-- rank: read by event_id
select i.n, e.aggregate_id, e.aggregate_revision
from unnest(:event_id::text[]) with ordinality as i(event_id, n)
join steadhold.events e on e.workspace = :workspace::text and e.event_id = any(:event_id::text[])
  and e.event_id = i.event_id

-- name: history
-- rank: read
select e.aggregate_id, e.aggregate_revision, e.event_id, e.schema_version, e.occurred_at, e.type, e.data_ref, e.data,
  e.correlation_id, e.causation_id
from steadhold.events e
where e.workspace = :workspace::text and e.aggregate_id = :aggregate_id::text and e.aggregate_revision > :after::bigint
order by e.aggregate_revision
limit :limit::bigint

-- name: first_kept
-- rank: read
select coalesce(
  (select min(e.aggregate_revision) from steadhold.events e
   where e.workspace = :workspace::text and e.aggregate_id = :aggregate_id::text),
  (select a.revision + 1 from steadhold.aggregates a
   where a.workspace = :workspace::text and a.aggregate_id = :aggregate_id::text))

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
-- Writes history. Nobody can subscribe yet, so nothing has to be matched: the window begins here. (A relay will match
-- what is written, and then `matched_at` begins as null.)
insert into steadhold.events (workspace, aggregate_id, aggregate_revision, event_id, schema_version, occurred_at, type,
  data_ref, data, correlation_id, causation_id, matched_at)
select :workspace::text, aggregate_id, aggregate_revision, event_id, schema_version, steadhold.clock(), type, data_ref,
  data, correlation_id, causation_id, steadhold.clock()
from unnest(:aggregate_id::text[], :aggregate_revision::bigint[], :event_id::text[], :schema_version::int[], :type::text[],
    :data_ref::text[], :data::bytea[], :correlation_id::text[], :causation_id::text[])
  with ordinality as i(aggregate_id, aggregate_revision, event_id, schema_version, type, data_ref, data, correlation_id,
    causation_id, n)
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
from due where w.workspace = :workspace::text and w.job_id = due.job_id

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
