-- Beside a join with its items each statement says `= any(…)`, and the house is one row by two sub-selects: see fences.
-- A lock that was released or has ended has no `until`. Only such a row is taken; one that the clock has ended, and
-- nobody has written down, goes through `expire` first, so that its event is never missed.

-- part: house
-- Which life of the data this is, and since when.
select (select h.incarnation from steadhold.house h where h.single) as incarnation,
  (select h.began_at from steadhold.house h where h.single) as began_at

-- name: take
-- rank: grants by subject
-- Grants each lock that is free to the first that may have it: whoever stands first in line, or else whoever came first.
-- A fence is made from what was seen, and holds only if it still is the next one once the row is ours: so nothing that
-- this statement saw of keys and tickets is older than the last grant. What is seen to be held is not even tried: a try
-- would lock the row, and its holder's own writes would wait for it.
with i as materialized (
  select * from unnest(:subject::text[], :owner::text[], :operation::text[], :request::text[], :ttl_seconds::float8[])
    with ordinality as i(subject, owner, operation, request, ttl_seconds, n)
), house as materialized (
  {house}
), seen as materialized (
  select g.subject, g.fence, g.holder, g.operation, g.length_seconds, g.until,
    steadhold.grant_end(g.until, g.fence, g.length_seconds, house.incarnation, house.began_at) as ends
  from steadhold.grants g cross join house
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
), line as materialized (
  select distinct on (t.subject) t.subject, t.operation, t.placed_at from steadhold.lock_tickets t
  where t.workspace = :workspace::text and t.subject = any(:subject::text[]) and t.fence is null
    and t.live_until > (select steadhold.clock())
  order by t.subject, t.placed_at, t.operation
), mine as materialized (
  select i.n, t.fence, t.live_until, case when t.request = i.request then t.asked_at end as asked_at,
    case when t.live_until + make_interval(secs => :kept_seconds::float8) > steadhold.clock() then t.placed_at end as placed_at
  from i join steadhold.lock_tickets t on t.workspace = :workspace::text and t.operation = any(:operation::text[])
    and t.operation = i.operation and t.subject = i.subject
), judged as materialized (
  select i.*, s.fence, s.holder, s.length_seconds, s.until, s.ends, m.placed_at, m.asked_at, m.live_until,
    s.operation as last, m.fence is not null or coalesce(s.operation = i.operation, false) as used,
    l.subject is not null and l.operation is distinct from i.operation
      and not coalesce((m.placed_at, i.operation) < (l.placed_at, l.operation), false) as behind
  from i left join seen s on s.subject = i.subject left join mine m on m.n = i.n left join line l on l.subject = i.subject
), fit as materialized (
  select distinct on (subject) * from judged where until is null and not used and not behind
  order by subject, placed_at nulls last, n
), taken as (
  insert into steadhold.grants as g
    (workspace, subject, fence, holder, operation, length_seconds, until, check_at, revision)
  select :workspace::text, f.subject, greatest(f.fence, house.incarnation << 32) + 1, f.owner, f.operation,
    f.ttl_seconds, t.ends, t.ends, (house.incarnation << 32) + 1
  from fit f cross join house
  cross join lateral (select steadhold.clock() + make_interval(secs => f.ttl_seconds) as ends) t
  order by f.subject
  on conflict (workspace, subject) do update set
    fence = excluded.fence, holder = excluded.holder, operation = excluded.operation, released = false,
    length_seconds = excluded.length_seconds,
    until = steadhold.clock() + make_interval(secs => excluded.length_seconds),
    check_at = least(g.check_at, steadhold.clock() + make_interval(secs => excluded.length_seconds)),
    revision = greatest(g.revision, (select house.incarnation << 32 from house)) + 1
  where g.until is null and excluded.fence = greatest(g.fence, (select house.incarnation << 32 from house)) + 1
  returning g.subject, g.fence, g.holder, g.operation, g.length_seconds, g.until, g.revision
), remembered as (
  insert into steadhold.lock_tickets (workspace, operation, subject, fence, request, check_at)
  select :workspace::text, f.operation, f.subject, taken.fence, f.request,
    steadhold.clock() + make_interval(secs => :remembered_seconds::float8)
  from taken join fit f on f.subject = taken.subject where f.operation is not null
  order by f.operation
  on conflict (workspace, operation, subject) do update set
    fence = excluded.fence, request = excluded.request, check_at = excluded.check_at
)
select j.n, f.n is not null and t.subject is not null, coalesce(t.fence, j.fence), coalesce(t.holder, j.holder),
  coalesce(t.length_seconds, j.length_seconds), coalesce(t.until, j.ends), t.revision,
  case when t.subject is not null then extract(epoch from steadhold.clock() - t.until)::float8 + t.length_seconds end,
  coalesce(coalesce(t.operation, j.last) = j.operation, false), j.used, j.behind, j.asked_at, j.live_until, steadhold.clock()
from judged j left join taken t on t.subject = j.subject left join fit f on f.n = j.n

-- name: expire
-- rank: grants by subject
-- Writes down that the clock has ended grants: once each, on the clock once the row is ours. No sweep looks at a row
-- again that has ended.
with i as materialized (
  select distinct on (subject) * from unnest(:subject::text[]) with ordinality as i(subject, n) order by subject, n
), house as materialized (
  {house}
), locked as materialized (
  select g.subject, g.fence, g.until, g.length_seconds from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  order by g.subject for update
), over as materialized (
  select l.subject, l.until is not null as news from locked l cross join house
  where l.until is null
    or steadhold.grant_end(l.until, l.fence, l.length_seconds, house.incarnation, house.began_at) <= steadhold.clock()
), ended as (
  update steadhold.grants g set until = null, check_at = null, released = g.released and not over.news,
    revision = case when over.news
      then greatest(g.revision, (select house.incarnation << 32 from house)) + 1 else g.revision end
  from over where g.workspace = :workspace::text and g.subject = any(:subject::text[]) and g.subject = over.subject
  returning g.subject, g.fence, g.holder, g.revision, over.news
)
select i.n, e.fence, e.holder, e.revision from i join ended e on e.subject = i.subject where e.news

-- name: release
-- rank: grants by subject
-- Ends grants for their holders, and tells whether somebody waits. The fence stays on the row, so that a repeat is known;
-- so does the time of the sweep, which keeps indexes out of it.
with i as materialized (
  select * from unnest(:subject::text[], :fence::bigint[]) with ordinality as i(subject, fence, n)
), house as materialized (
  {house}
), locked as materialized (
  select g.subject, g.fence, g.holder, g.until, g.length_seconds, g.released, g.revision from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  order by g.subject for update
), judged as materialized (
  select i.n, i.subject, l.holder, l.released, l.revision, row_number() over (partition by i.subject order by i.n) as nth,
    coalesce(steadhold.grant_end(l.until, l.fence, l.length_seconds, house.incarnation, house.began_at)
      > steadhold.clock(), false) as held
  from i join locked l on l.subject = i.subject and l.fence = i.fence cross join house
), ended as (
  update steadhold.grants g set until = null, released = true,
    revision = greatest(g.revision, (select house.incarnation << 32 from house)) + 1
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
    and g.subject in (select subject from judged where held)
  returning g.subject, g.revision
), line as materialized (
  select distinct t.subject from steadhold.lock_tickets t
  where t.workspace = :workspace::text and t.subject = any(:subject::text[]) and t.fence is null
    and t.live_until > (select steadhold.clock())
)
select j.n, j.holder, coalesce(e.revision, j.revision), e.subject is null or j.nth > 1, l.subject is not null
from judged j left join ended e on e.subject = j.subject left join line l on l.subject = j.subject
where j.held or j.released

-- name: stand
-- rank: grants by operation
-- Stands in line, or says that the request that does is alive. Whoever asks again in time has the place that it had.
insert into steadhold.lock_tickets as t (workspace, operation, subject, request, placed_at, asked_at, live_until, check_at)
select distinct on (operation, subject) :workspace::text, operation, subject, request, now, now,
  now + make_interval(secs => :silence_seconds::float8),
  now + make_interval(secs => :silence_seconds::float8 + :kept_seconds::float8)
from unnest(:operation::text[], :subject::text[], :request::text[]) with ordinality as i(operation, subject, request, n)
cross join lateral (select steadhold.clock() as now offset 0) c
order by operation, subject, n
on conflict (workspace, operation, subject) do update set
  placed_at = case when t.live_until + make_interval(secs => :kept_seconds::float8) > excluded.asked_at
    then t.placed_at else excluded.placed_at end,
  asked_at = case when t.request = excluded.request then t.asked_at else excluded.asked_at end,
  request = excluded.request, live_until = excluded.live_until
where t.fence is null

-- name: leave
-- rank: grants by operation
-- The request is over: its ticket keeps its place for a while, and holds up nobody.
update steadhold.lock_tickets t set live_until = least(t.live_until, steadhold.clock())
from unnest(:operation::text[], :subject::text[], :request::text[]) as i(operation, subject, request)
where t.workspace = :workspace::text and t.operation = any(:operation::text[]) and t.operation = i.operation
  and t.subject = i.subject and t.request = i.request and t.fence is null

-- name: answer
-- rank: grants by operation
-- A grant is asked for again: from now on it is the last request's to give back. None: it was given back.
with i as materialized (
  select * from unnest(:operation::text[], :subject::text[], :request::text[]) with ordinality as i(operation, subject, request, n)
), told as (
  update steadhold.lock_tickets t set request = last.request
  from (select distinct on (operation, subject) * from i order by operation, subject, n desc) last
  where t.workspace = :workspace::text and t.operation = any(:operation::text[]) and t.operation = last.operation
    and t.subject = last.subject and t.request is not null
  returning t.operation, t.subject
)
select i.n from i join told on told.operation = i.operation and told.subject = i.subject

-- name: disown
-- rank: grants by operation
-- The request that was granted is over, and nobody was told. None: another one was told since.
update steadhold.lock_tickets t set request = null
from unnest(:operation::text[], :subject::text[], :request::text[]) with ordinality as i(operation, subject, request, n)
where t.workspace = :workspace::text and t.operation = any(:operation::text[]) and t.operation = i.operation
  and t.subject = i.subject and t.request = i.request
returning i.n

-- name: look
-- rank: read by subject
-- What a lock is now. One that the clock has ended has the revision with which that will be written down.
with house as materialized (
  {house}
), line as materialized (
  select t.subject, count(*) as waiting from steadhold.lock_tickets t
  where t.workspace = :workspace::text and t.subject = any(:subject::text[]) and t.fence is null
    and t.live_until > (select steadhold.clock())
  group by t.subject
)
select i.n, g.subject, g.fence, g.holder, e.ends,
  case when e.ends <= c.now then greatest(g.revision, house.incarnation << 32) + 1 else g.revision end,
  coalesce(line.waiting, 0), c.now
from unnest(:subject::text[]) with ordinality as i(subject, n)
join steadhold.grants g on g.workspace = :workspace::text and g.subject = any(:subject::text[])
  and g.subject = i.subject
cross join house
cross join lateral (
  select steadhold.grant_end(g.until, g.fence, g.length_seconds, house.incarnation, house.began_at) as ends) e
cross join lateral (select steadhold.clock() as now offset 0) c
left join line on line.subject = g.subject

-- name: names
-- rank: read
-- A page of subjects in a range.
select g.subject from steadhold.grants g
where g.workspace = :workspace::text and g.subject > :after::text and g.subject >= :first::text
  and g.subject < :last::text
order by g.subject limit :limit::bigint

-- name: few
-- rank: read
-- The same of a few alone, each by its key: who may see one lock does not read through all.
select few.subject from (
  select g.subject from steadhold.grants g where g.workspace = :workspace::text and g.subject = any(:only::text[])
  offset 0  -- the range would be walked for its order
) few
where few.subject > :after::text and few.subject >= :first::text and few.subject < :last::text
order by few.subject limit :limit::bigint

-- name: past
-- rank: grants
-- Tickets whose time is over go; one that waits yet is only looked at later. What somebody else has locked is passed over.
with seen as materialized (
  select t.operation, t.subject,
    case when t.fence is null then t.live_until + make_interval(secs => :kept_seconds::float8) end as over_at
  from steadhold.lock_tickets t
  where t.workspace = :workspace::text and t.check_at <= (select steadhold.clock())
  order by t.check_at limit :limit::bigint
  for update skip locked
), postponed as (
  update steadhold.lock_tickets t set check_at = seen.over_at
  from seen where seen.over_at > steadhold.clock() and t.workspace = :workspace::text
    and t.operation = any(array(select seen.operation from seen))
    and t.operation = seen.operation and t.subject = seen.subject
), gone as (
  delete from steadhold.lock_tickets t using seen
  where (seen.over_at is null or seen.over_at <= steadhold.clock()) and t.workspace = :workspace::text
    and t.operation = any(array(select seen.operation from seen))
    and t.operation = seen.operation and t.subject = seen.subject
)
select count(*) from seen
