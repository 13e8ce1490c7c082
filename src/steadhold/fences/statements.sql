-- Beside a join with its items each statement says `= any(…)`: so PostgreSQL reaches the rows by key whatever its
-- statistics say, and never walks a workspace. The house is one row by two sub-selects, so that it counts
-- as one, and is read by its key: a player may forbid scans, and then a scan makes every other choice look alike.

-- part: house
-- Which life of the data this is, and since when.
select (select h.incarnation from steadhold.house h where h.single) as incarnation,
  (select h.began_at from steadhold.house h where h.single) as began_at

-- name: grant
-- rank: grants by subject
-- Grants what is free, on the clock once the row is ours. Setting `subject` to what it is makes PostgreSQL lock a row
-- that is there FOR UPDATE, so that it waits for everybody who relies on the old grant (`hold`, for key share).
-- What is seen to be held is not even tried: a try would lock the row, and its holder's own writes would wait for it.
-- A row that is free but was last taken under the same key stays as it is: that grant has ended.
-- `lag` is how much of the length went by while a new row waited for the index; `restart` gives it back.
with i as materialized (
  select * from unnest(:subject::text[], :holder::text[], :key::text[], :length_seconds::float8[])
    with ordinality as i(subject, holder, key, length_seconds, n)
), house as materialized (
  {house}
), held as materialized (
  select g.subject from steadhold.grants g cross join house
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
    and steadhold.grant_end(g.until, g.fence, g.length_seconds, house.incarnation, house.began_at) > steadhold.clock()
), first as materialized (
  select distinct on (subject) * from i where subject not in (select held.subject from held) order by subject, n
), taken as (
  insert into steadhold.grants as g (workspace, subject, fence, holder, key, length_seconds, until, check_at)
  select :workspace::text, subject, (house.incarnation << 32) + 1, holder, key, length_seconds, t.ends, t.ends
  from first cross join house
  cross join lateral (select steadhold.clock() + make_interval(secs => first.length_seconds) as ends) t
  order by subject
  on conflict (workspace, subject) do update set
    subject = excluded.subject,
    fence = greatest(g.fence, (select house.incarnation << 32 from house)) + 1,
    holder = excluded.holder, key = excluded.key, length_seconds = excluded.length_seconds, released = false,
    until = steadhold.clock() + make_interval(secs => excluded.length_seconds),
    check_at = steadhold.clock() + make_interval(secs => excluded.length_seconds)
  where (g.key is null or g.key is distinct from excluded.key)
    and (g.until is null or steadhold.grant_end(g.until, g.fence, g.length_seconds,
      (select house.incarnation from house), (select house.began_at from house)) <= steadhold.clock())
  returning g.subject, g.fence, g.until, g.length_seconds
)
select i.n, t.fence, t.until, t.length_seconds,
  extract(epoch from steadhold.clock() - t.until)::float8 + t.length_seconds
from i join first on first.n = i.n join taken t on t.subject = i.subject

-- name: first
-- rank: grants by subject
-- Grants what nobody was ever granted, and what nobody else can be granting: that a row is there is a mistake.
with i as materialized (
  select i.subject, i.holder, i.length_seconds, i.n, steadhold.clock() + make_interval(secs => i.length_seconds) as ends,
    ((select h.incarnation from steadhold.house h where h.single) << 32) + 1 as fence
  from unnest(:subject::text[], :holder::text[], :length_seconds::float8[])
    with ordinality as i(subject, holder, length_seconds, n)
), made as (
  insert into steadhold.grants (workspace, subject, fence, holder, length_seconds, until, check_at)
  select :workspace::text, i.subject, i.fence, i.holder, i.length_seconds, i.ends, i.ends from i
)
select i.n, i.fence, i.ends, i.length_seconds from i

-- name: restart
-- rank: grants by subject
-- Lets a grant that this transaction just took begin now.
update steadhold.grants g set
  until = steadhold.clock() + make_interval(secs => g.length_seconds),
  check_at = steadhold.clock() + make_interval(secs => g.length_seconds)
from unnest(:subject::text[], :fence::bigint[]) with ordinality as i(subject, fence, n)
where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  and g.subject = i.subject and g.fence = i.fence
returning i.n, g.until

-- name: look
-- rank: read by subject
with house as materialized (
  {house}
)
select i.n, g.subject, g.fence, g.holder, g.key, g.length_seconds,
  steadhold.grant_end(g.until, g.fence, g.length_seconds, house.incarnation, house.began_at), g.released, steadhold.clock()
from unnest(:subject::text[]) with ordinality as i(subject, n)
join steadhold.grants g on g.workspace = :workspace::text and g.subject = any(:subject::text[])
  and g.subject = i.subject
cross join house

-- name: under_key
-- rank: read
select g.subject, g.fence, g.holder, g.key, g.length_seconds,
  steadhold.grant_end(g.until, g.fence, g.length_seconds, h.incarnation, h.began_at), g.released, steadhold.clock()
from steadhold.grants g cross join (
  select (select h.incarnation from steadhold.house h where h.single) as incarnation,
    (select h.began_at from steadhold.house h where h.single) as began_at) h
where g.workspace = :workspace::text and g.kind = :kind::text and g.key = :key::text
order by g.subject

-- name: hold
-- rank: grants by subject
-- Relies on grants until commit: nobody takes them over, settles, releases or sweeps them meanwhile; renewals pass.
-- Fence and clock are tested outside the locking query, each once its row is locked.
with i as materialized (
  select * from unnest(:subject::text[], :fence::bigint[]) with ordinality as i(subject, fence, n)
), house as materialized (
  {house}
), locked as materialized (
  select g.subject, g.fence, g.until, g.length_seconds from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  order by g.subject for key share
)
select i.n
from i join locked l on l.subject = i.subject and l.fence = i.fence cross join house
where steadhold.grant_end(l.until, l.fence, l.length_seconds, house.incarnation, house.began_at) > steadhold.clock()

-- name: own
-- rank: grants by subject
-- As `hold`, and alone: whoever relies on these grants is waited for, and whoever comes waits.
with i as materialized (
  select * from unnest(:subject::text[], :fence::bigint[]) with ordinality as i(subject, fence, n)
), house as materialized (
  {house}
), locked as materialized (
  select g.subject, g.fence, g.until, g.length_seconds from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  order by g.subject for update
)
select i.n
from i join locked l on l.subject = i.subject and l.fence = i.fence cross join house
where steadhold.grant_end(l.until, l.fence, l.length_seconds, house.incarnation, house.began_at) > steadhold.clock()

-- name: renew
-- rank: grants by subject
-- Lets grants end later, if they have not ended. No index is touched, unless a shorter length asks for an earlier
-- look by the sweep. Of several renewals of one grant in one statement the first counts.
with i as materialized (
  select * from unnest(:subject::text[], :fence::bigint[], :length_seconds::float8[])
    with ordinality as i(subject, fence, length_seconds, n)
), house as materialized (
  {house}
), locked as materialized (
  select g.subject, g.fence, g.until, g.length_seconds from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  order by g.subject for no key update
), judged as materialized (
  select i.n, i.subject, coalesce(i.length_seconds, l.length_seconds) as length_seconds, steadhold.clock() as now,
    steadhold.grant_end(l.until, l.fence, l.length_seconds, house.incarnation, house.began_at) as ends
  from i join locked l on l.subject = i.subject and l.fence = i.fence cross join house
), fit as materialized (
  select distinct on (subject) subject, length_seconds, now from judged where ends > now order by subject, n
), renewed as (
  update steadhold.grants g set
    length_seconds = fit.length_seconds,
    until = fit.now + make_interval(secs => fit.length_seconds),
    check_at = least(g.check_at, fit.now + make_interval(secs => fit.length_seconds))
  from fit where g.workspace = :workspace::text and g.subject = any(:subject::text[]) and g.subject = fit.subject
  returning g.subject, g.fence, g.until, fit.now
)
select i.n, r.until, r.now from i join renewed r on r.subject = i.subject and r.fence = i.fence

-- name: release
-- rank: grants by subject
-- Ends grants for their holder. The fence stays on the row, so that a repeat is known.
with i as materialized (
  select * from unnest(:subject::text[], :fence::bigint[]) with ordinality as i(subject, fence, n)
), house as materialized (
  {house}
), locked as materialized (
  select g.subject, g.fence, g.until, g.length_seconds, g.released from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  order by g.subject for update
), judged as materialized (
  select i.n, i.subject, l.released,
    steadhold.grant_end(l.until, l.fence, l.length_seconds, house.incarnation, house.began_at) > steadhold.clock() as held
  from i join locked l on l.subject = i.subject and l.fence = i.fence cross join house
), ended as (
  update steadhold.grants g set until = null, check_at = null, released = true
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
    and g.subject in (select subject from judged where held)
)
select n, released from judged where held or released

-- name: finish
-- rank: read by subject
-- Ends grants whose rows this transaction has locked already (own, lapsed, grant): it waits for nobody, so it may
-- stand after the locks of later ranks, where a verb knows whether the grant is to end.
update steadhold.grants g set until = null, check_at = null, released = i.released
from unnest(:subject::text[], :fence::bigint[], :released::bool[]) with ordinality as i(subject, fence, released, n)
where g.workspace = :workspace::text and g.subject = any(:subject::text[])
  and g.subject = i.subject and g.fence = i.fence

-- name: drop
-- rank: read by subject
-- Forgets grants of jobs that have ended, whose rows this transaction has locked already.
delete from steadhold.grants g where g.workspace = :workspace::text and g.subject = any(:subject::text[])

-- name: lapsed
-- rank: grants
-- Grants that have ended and that nobody has ended yet, locked. Those that were renewed are only looked at later.
with house as materialized (
  {house}
), seen as materialized (
  select g.subject, g.fence, g.until, g.length_seconds from steadhold.grants g
  where g.workspace = :workspace::text and g.kind = :kind::text and g.check_at <= (select steadhold.clock())
  order by g.check_at
  limit :limit::bigint
  for update skip locked
), judged as materialized (
  select s.subject, s.fence, e.ends, e.ends is null or e.ends <= steadhold.clock() as over
  from seen s cross join house h
  cross join lateral (
    select steadhold.grant_end(s.until, s.fence, s.length_seconds, h.incarnation, h.began_at) as ends) e
), postponed as (
  update steadhold.grants g set check_at = judged.ends
  from judged
  where not judged.over and g.workspace = :workspace::text and g.subject = any(array(select seen.subject from seen))
    and g.subject = judged.subject
)
select subject, fence from judged where over order by subject

-- name: mark
-- rank: grants by resource
-- Raises high-water marks; a lower fence leaves them. Of several for one resource the highest comes first.
with i as materialized (
  select * from unnest(:resource::text[], :fence::bigint[]) with ordinality as i(resource, fence, n)
), highest as materialized (
  select distinct on (resource) resource, fence from i order by resource, fence desc
), marked as (
  insert into steadhold.marks as m (workspace, resource, fence)
  select :workspace::text, resource, fence from highest order by resource
  on conflict (workspace, resource) do update set fence = excluded.fence where m.fence <= excluded.fence
  returning m.resource, m.fence
)
select i.n, m.fence from i join marked m on m.resource = i.resource and m.fence = i.fence

-- name: marks
-- rank: read by resource
select i.n, m.fence
from unnest(:resource::text[]) with ordinality as i(resource, n)
join steadhold.marks m on m.workspace = :workspace::text and m.resource = any(:resource::text[])
  and m.resource = i.resource
