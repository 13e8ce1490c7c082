-- In the rank `schedules` the rows of schedules come first, then those of their runs, which only who holds their
-- schedule writes. Statements of the rank `read` that write touch only what their plan holds already.

-- part: schedule
-- What is read of a schedule `s`.
s.id, s.revision, s.spec, s.since, s.cursor, s.next_at, s.range_at, s.manual_at, s.told, s.tables, s.pruned_to,
  s.deleted, s.made_at, s.changed_at

-- part: named
-- Runs `r` that the items `i` name. They are found one by one: a join may read all runs of a schedule.
r.ctid = any(array(
    select o.ctid from i cross join lateral (
      select o.ctid from steadhold.schedule_runs o
      where o.workspace = :workspace::text and o.schedule = i.schedule and o.scheduled_at = i.scheduled_at
        and o.manual = i.manual
      offset 0
    ) o))
  and r.workspace = :workspace::text and r.schedule = i.schedule and r.scheduled_at = i.scheduled_at
  and r.manual = i.manual

-- name: moment
-- rank: read
-- all workspaces: the clock is everybody's
-- The time, asked once the rows are held; and the number below which none is issued in this life of the data.
select steadhold.clock(), h.incarnation << 32 from steadhold.house h where h.single

-- name: hold
-- rank: schedules by id
with i as (
  select * from unnest(:id::text[]) with ordinality as i(id, n)
), held as materialized (
  select {schedule}
  from steadhold.schedules s
  where s.workspace = :workspace::text and s.id = any(:id::text[])
  order by s.id for no key update
)
select i.n, held.*
from i join held on held.id = i.id

-- name: due
-- rank: schedules
-- Schedules with an instant that is due, and that nobody else is looking at.
select {schedule}
from steadhold.schedules s
where s.workspace = :workspace::text and s.next_at <= (select steadhold.clock())
order by s.next_at limit :limit::bigint
for no key update skip locked

-- name: planned
-- rank: schedules
-- Schedules whose next instant was found by older zone tables.
select {schedule}
from steadhold.schedules s
where s.workspace = :workspace::text and s.next_at is not null and s.tables < :tables::text
order by s.tables, s.id limit :limit::bigint
for no key update skip locked

-- name: ranges
-- rank: read by schedule
-- The skipped instants that were written last.
select i.n, r.reason, r.scheduled_at, r.last_at, r.count
from unnest(:schedule::text[], :at::timestamptz[]) with ordinality as i(schedule, at, n)
cross join lateral (
  select r.* from steadhold.schedule_runs r
  where r.workspace = :workspace::text and r.schedule = i.schedule and r.scheduled_at = i.at and not r.manual
  offset 0
) r

-- name: live
-- rank: read by schedule
-- Runs whose job was not seen to have ended, the oldest first.
select i.n, r.scheduled_at, r.manual, r.job::text, r.trigger_id::text, r.window_start, r.covers, r.again
from unnest(:schedule::text[], :most::bigint[]) with ordinality as i(schedule, most, n)
cross join lateral (
  select r.* from steadhold.schedule_runs r
  where r.workspace = :workspace::text and r.schedule = i.schedule and r.live
  order by r.scheduled_at limit i.most
) r

-- name: inboxes
-- rank: read
-- Which of these inboxes are there.
select b.name from steadhold.inboxes b
where b.workspace = :workspace::text and b.name = any(:inboxes::text[]) and b.present

-- name: make
-- rank: schedules
insert into steadhold.schedules (workspace, id, revision, spec, since, cursor, next_at, tables, made_at, changed_at, told)
select :workspace::text, :id::text, (h.incarnation << 32) + 1, :spec::bytea, :now::timestamptz, :now::timestamptz,
  :next_at::timestamptz, :tables::text, :now::timestamptz, :now::timestamptz, (h.incarnation << 32) + 1
from steadhold.house h where h.single
on conflict (workspace, id) do nothing
returning revision

-- name: change
-- rank: schedules
-- A held schedule is told otherwise. Its cursor never goes back, and it begins a new range.
update steadhold.schedules s set
  revision = greatest(s.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  spec = :spec::bytea, since = :now::timestamptz, cursor = greatest(s.cursor, :now::timestamptz),
  next_at = :next_at::timestamptz, tables = :tables::text, range_at = null, deleted = :deleted::boolean,
  made_at = case when s.deleted and not :deleted::boolean then :now::timestamptz else s.made_at end,
  changed_at = :now::timestamptz,
  told = greatest(s.told, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
where s.workspace = :workspace::text and s.id = :id::text
returning revision

-- name: advance
-- rank: read by id
-- Up to where held schedules are settled now.
update steadhold.schedules s set
  cursor = greatest(s.cursor, i.cursor), next_at = i.next_at, range_at = i.range_at,
  manual_at = coalesce(i.manual_at, s.manual_at), told = i.told, tables = i.tables
from (
  select * from unnest(
    :id::text[], :cursor::timestamptz[], :next_at::timestamptz[], :range_at::timestamptz[], :manual_at::timestamptz[],
    :told::bigint[], :tables::text[]
  ) with ordinality as i(id, cursor, next_at, range_at, manual_at, told, tables, n) order by i.id
) i
where s.workspace = :workspace::text and s.id = any(:id::text[]) and s.id = i.id
returning i.n, true

-- name: record
-- rank: read by schedule, scheduled_at
-- What became of instants. An instant that has a row already is a fault of ours, and no second run: it raises.
insert into steadhold.schedule_runs (
  workspace, schedule, scheduled_at, manual, last_at, count, local, window_start, covers, trigger_id, operation_id,
  revision, outcome, reason, job, live, recorded_at, inbox, event_id)
select :workspace::text, i.schedule, i.scheduled_at, i.manual, i.last_at, i.count, i.local, i.window_start, i.covers,
  i.trigger_id, i.operation_id, i.revision, i.outcome, i.reason, i.job, i.outcome = 0, steadhold.clock(),
  i.inbox, i.event_id
from unnest(
  :schedule::text[], :scheduled_at::timestamptz[], :manual::boolean[], :last_at::timestamptz[], :count::bigint[],
  :local::text[], :window_start::timestamptz[], :covers::bytea[], :trigger_id::uuid[], :operation_id::text[],
  :revision::bigint[], :outcome::int[], :reason::text[], :job::uuid[], :inbox::text[], :event_id::text[]
) as i(schedule, scheduled_at, manual, last_at, count, local, window_start, covers, trigger_id, operation_id, revision,
  outcome, reason, job, inbox, event_id)

-- name: grow
-- rank: read by schedule, scheduled_at
-- Ranges of skipped instants that go on.
with i as (
  select i.*, false as manual
  from unnest(:schedule::text[], :scheduled_at::timestamptz[], :last_at::timestamptz[], :count::bigint[])
    with ordinality as i(schedule, scheduled_at, last_at, count, n)
)
update steadhold.schedule_runs r set last_at = i.last_at, count = r.count + i.count
from i
where {named}
returning i.n, true

-- name: rewrite
-- rank: read by schedule, scheduled_at
-- Runs that have a job: another has taken their place (outcome 1), they stand for more by another job, or it ended.
with i as (
  select * from unnest(
    :schedule::text[], :scheduled_at::timestamptz[], :manual::boolean[], :outcome::int[], :live::boolean[],
    :job::uuid[], :window_start::timestamptz[], :covers::bytea[]
  ) with ordinality as i(schedule, scheduled_at, manual, outcome, live, job, window_start, covers, n)
)
update steadhold.schedule_runs r set
  outcome = i.outcome, live = i.live, again = r.again + (i.job is not null)::int, job = coalesce(i.job, r.job),
  window_start = coalesce(i.window_start, r.window_start), covers = coalesce(i.covers, r.covers)
from i
where {named}
returning i.n, true

-- name: standing_there
-- rank: read by schedule, at
-- The row that an instant has already, alone or in a range.
select i.n, r.scheduled_at, r.manual, r.last_at, r.count, r.local, r.window_start, r.covers, r.trigger_id::text,
  r.operation_id, r.revision, r.outcome, r.reason, r.job::text, r.recorded_at, r.inbox, r.event_id
from unnest(:schedule::text[], :at::timestamptz[]) with ordinality as i(schedule, at, n)
cross join lateral (
  select r.* from steadhold.schedule_runs r
  where r.workspace = :workspace::text and r.schedule = i.schedule and r.scheduled_at <= i.at and not r.manual
  order by r.scheduled_at desc limit 1
) r
where r.last_at >= i.at

-- name: asked
-- rank: read
-- The run that an operation asked for.
select r.scheduled_at, r.manual, r.last_at, r.count, r.local, r.window_start, r.covers, r.trigger_id::text,
  r.operation_id, r.revision, r.outcome, r.reason, r.job::text, r.recorded_at, r.inbox, r.event_id
from steadhold.schedule_runs r
where r.workspace = :workspace::text and r.schedule = :schedule::text and r.operation_id = :operation::text and r.manual

-- name: look
-- rank: read
select {schedule}
from steadhold.schedules s
where s.workspace = :workspace::text and s.id = :id::text

-- name: page
-- rank: read
-- A page of schedules by id, of those under prefixes.
select {schedule}
from steadhold.schedules s
where s.workspace = :workspace::text and s.id > :after::text and not s.deleted
  and ('' = any(:within::text[]) or s.id = any(:within::text[]))
order by s.id limit :limit::bigint

-- name: runs
-- rank: read
-- A page of runs, the newest instant first.
select r.scheduled_at, r.manual, r.last_at, r.count, r.local, r.window_start, r.covers, r.trigger_id::text,
  r.operation_id, r.revision, r.outcome, r.reason, r.job::text, r.recorded_at, r.inbox, r.event_id
from steadhold.schedule_runs r
where r.workspace = :workspace::text and r.schedule = :schedule::text
  and (r.scheduled_at, r.manual) < (:before::timestamptz, :manual::boolean)
order by r.scheduled_at desc, r.manual desc limit :limit::bigint

-- name: outlived
-- rank: read
-- Runs past their window, the oldest first; one whose job goes on is kept, since others may have to wait for it. `offset 0`
-- has each job looked up by its id: otherwise all that are under way may be read first.
select r.schedule, r.scheduled_at, r.manual
from steadhold.schedule_runs r
where r.workspace = :workspace::text
  and r.recorded_at < (select steadhold.clock()) - make_interval(secs => :seconds::float8)
  and r.last_at < (select steadhold.clock()) - make_interval(secs => :seconds::float8)
  and not (r.live and exists (
    select from steadhold.jobs j where j.workspace = :workspace::text and j.id = r.job and j.state < 3 offset 0))
order by r.recorded_at limit :limit::bigint

-- name: forget
-- rank: read by schedule, scheduled_at
-- Remove runs of held schedules. A range that has grown since it was seen is not past its window any more.
with i as (
  select * from unnest(:schedule::text[], :scheduled_at::timestamptz[], :manual::boolean[])
    with ordinality as i(schedule, scheduled_at, manual, n)
)
delete from steadhold.schedule_runs r using i
where {named}
  and r.last_at < (select steadhold.clock()) - make_interval(secs => :seconds::float8)
returning i.n, r.last_at

-- name: pruned
-- rank: read by id
update steadhold.schedules s set pruned_to = greatest(s.pruned_to, i.at)
from (
  select i.id, max(i.at) as at from unnest(:id::text[], :at::timestamptz[]) as i(id, at) group by i.id order by i.id
) i
where s.workspace = :workspace::text and s.id = any(:id::text[]) and s.id = i.id

-- name: glance
-- rank: read
-- planned anew: bounded walks of one index
-- How many schedules have a next instant, how many are late for it, and by how much the latest is.
with now as materialized (
  select steadhold.clock() as at
), late as materialized (
  select s.next_at from steadhold.schedules s
  where s.workspace = :workspace::text and s.next_at is not null and s.next_at <= (select at from now)
  order by s.next_at limit :most::bigint
)
select
  (select count(*) from (select from steadhold.schedules s
    where s.workspace = :workspace::text and s.next_at is not null limit :most::bigint) c),
  (select count(*) from late), (select extract(epoch from (select at from now) - min(late.next_at))::float8 from late)
