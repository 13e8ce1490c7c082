-- part: settings
-- What writes of a workspace obey: where its revisions begin, how many are kept, how much there may be and is.
select w.revision_floor, w.revisions_kept, h.incarnation << 32 as base, e.names_max, e.bytes_max,
  e.names_max is not null or e.bytes_max is not null as metered,
  case when e.names_max is not null then (select sum(m.amount) from steadhold.meters m
    where m.workspace = :workspace::text and m.what = 'names') end as names_used,
  case when e.bytes_max is not null then (select sum(m.amount) from steadhold.meters m
    where m.workspace = :workspace::text and m.what = 'bytes') end as bytes_used
from steadhold.workspaces w cross join steadhold.house h
left join steadhold.entitlements e on e.workspace = w.workspace
where w.workspace = :workspace::text and h.single

-- part: pruning
-- The newest revision that is not kept leaves: mostly it is the only one; others lie below it where more were kept
-- before. It is counted only where numbers have just jumped.
edge as materialized (
  select done.name, done.revision & 4294967295 <= revisions_kept as jumped,
    case when done.revision & 4294967295 > revisions_kept then done.revision - revisions_kept else (
      select o.revision from steadhold.state_revisions o
      where o.workspace = :workspace::text and o.name = done.name
      order by o.revision desc offset revisions_kept - 1 limit 1) end as newest
  from done cross join settings
), pruned as (
  delete from steadhold.state_revisions r where r.ctid = any(array(  -- found one by one: a join may read all of them
    select o.ctid from edge cross join lateral (
      select o.ctid from steadhold.state_revisions o
      where o.workspace = :workspace::text and o.name = edge.name and o.revision <= edge.newest
        and o.revision >= case when edge.jumped or exists (
            select from steadhold.state_revisions l
            where l.workspace = :workspace::text and l.name = edge.name and l.revision = edge.newest - 1
          ) then 1 else edge.newest end
      offset 0
    ) o)) and r.workspace = :workspace::text

-- name: hold
-- rank: names by name
-- Lock names at what they hold, `alone` or shared with others who only rely on it (a key share would not do: writers,
-- who leave the key alone, pass it by). First those that are there, then those that are not, as `write` takes them.
-- A name that is not there gets a row, which `let_go` removes at once: whoever would create it still waits for us.
with i as materialized (
  select i.name, bool_or(i.alone) as alone, array_agg(i.n) as ns
  from unnest(:name::text[], :alone::bool[]) with ordinality as i(name, alone, n) group by i.name
), held as materialized (
  select i.name, s.revision, s.present
  from (select i.name, i.alone from i order by i.name offset 0) i cross join lateral (
    select a.* from (
      select s.revision, s.present from steadhold.state s
      where s.workspace = :workspace::text and s.name = i.name and i.alone for no key update) a
    union all
    select b.* from (
      select s.revision, s.present from steadhold.state s
      where s.workspace = :workspace::text and s.name = i.name and not i.alone for share) b
  ) s
), made as (
  insert into steadhold.state (workspace, name, revision, present, bytes, digest, changed_at)
  select :workspace::text, i.name, 1, false, 0, '', steadhold.clock() from i
  where i.name <> all(array(select held.name from held))
  order by i.name
  on conflict (workspace, name) do nothing
  returning name
)
select n.n, held.revision, held.present, made.name is not null
from i cross join lateral unnest(i.ns) as n(n)
left join held on held.name = i.name
left join made on made.name = i.name

-- name: let_go
-- rank: read by name
-- Remove the rows that this transaction has just made to hold names that are not there: no tombstone has revision 1.
delete from steadhold.state s using unnest(:name::text[]) as i(name)
where s.workspace = :workspace::text and s.name = any(:name::text[]) and s.name = i.name
  and s.revision = 1 and not s.present

-- name: write
-- rank: names by name
-- One writer wins per expected revision, and every loser learns what the name holds now. A null
-- `expected` creates, a null `body` deletes. What is not kept any more leaves in the same breath.
-- `sealed` is the revision that an envelope is bound to; under a private prefix nothing else is stored.
with i as (
  select * from unnest(:name::text[], :expected::bigint[], :body::bytea[], :digest::bytea[], :sealed::bigint[])
    with ordinality as i(name, expected, body, digest, sealed, n)
), private as materialized (
  select p.name from steadhold.private_names(:workspace::text, 'state', :name::text[]) as p(name)
), settings as (
{settings}
), held as materialized (
  select s.name, s.revision, s.present, s.bytes from steadhold.state s
  where s.workspace = :workspace::text and s.name = any(:name::text[])
  order by s.name for no key update
), fit as (
  select distinct on (i.name) i.n, i.name, i.body, i.digest, i.sealed, held.revision as was,
    i.body is not null and i.name in (select private.name from private) as private,
    greatest(coalesce(held.revision, revision_floor), base) + 1 as next,
    coalesce(held.present, false) as stood,
    (i.body is not null)::int - coalesce(held.present, false)::int as more_names,
    coalesce(octet_length(i.body), 0) - coalesce(held.bytes, 0) as more_bytes
  from i cross join settings left join held on held.name = i.name
  where case when i.expected is null then not coalesce(held.present, false)
             else held.present and held.revision = i.expected end
  order by i.name, i.n
), judged as (
  select fit.*, case
    when private and sealed is null then 'plaintext' when private and sealed <> next then 'mismatch'
    when sealed is not null and not private then 'open'
    when more_names > 0 and coalesce(names_used, 0) + more_names > names_max then 'names'
    when more_bytes > 0 and coalesce(bytes_used, 0) + more_bytes > bytes_max then 'bytes' end as full_of
  from fit cross join settings
), winner as (select * from judged where full_of is null), moved as (
  update steadhold.state s
  set revision = w.next, present = w.body is not null, bytes = coalesce(octet_length(w.body), 0), digest = w.digest,
      changed_at = steadhold.clock()
  from winner w
  where s.workspace = :workspace::text and s.name = any(:name::text[]) and s.name = w.name and w.was is not null
  returning s.name, s.revision, s.changed_at
), made as (
  insert into steadhold.state (workspace, name, revision, present, bytes, digest, changed_at)
  select :workspace::text, w.name, w.next, true, octet_length(w.body), w.digest, steadhold.clock() from winner w
  where w.was is null and not exists (  -- purged while we waited for it: the floor above is older than that
    select from steadhold.state s where s.workspace = :workspace::text and s.name = any(:name::text[]) and s.name = w.name)
  order by w.name
  on conflict (workspace, name) do nothing
  returning name, revision, changed_at
), done as (select * from moved union all select * from made), kept as (
  insert into steadhold.state_revisions (workspace, name, revision, body, digest, written_at)
  select :workspace::text, w.name, done.revision, w.body, w.digest, done.changed_at
  from done join winner w on w.name = done.name
), {pruning}
), counted as materialized (
  select steadhold.add_to_meters(:workspace::text, sum(w.more_names), sum(w.more_bytes)::bigint) as done
  from done join winner w on w.name = done.name cross join settings
  where settings.metered and current_setting('steadhold.alone', true) = 'on'
)
select i.n, done.name is not null and j.n = i.n as won,
  coalesce(done.revision, held.revision) as revision, done.changed_at,
  case when done.name is null then coalesce(held.present, false) else j.body is not null end as present,
  coalesce(j.stood, false) as stood,
  case when j.n = i.n then j.full_of when j.full_of is not null then 'again' end as full_of,  -- it was a rival's
  case j.full_of when 'names' then names_used when 'bytes' then bytes_used when 'mismatch' then j.next end as used,
  case j.full_of when 'names' then names_max when 'bytes' then bytes_max end as most,
  metered and (select counted.done from counted) is null, coalesce(j.more_names, 0), coalesce(j.more_bytes, 0)
from i cross join settings
left join held on held.name = i.name left join judged j on j.name = i.name left join done on done.name = i.name

-- name: readable
-- rank: read
-- The first names under a prefix that hold what is no envelope: no JSON begins as those do.
select s.name from steadhold.state s
join steadhold.state_revisions r
  on r.workspace = :workspace::text and r.name = s.name and r.revision = s.revision
where s.workspace = :workspace::text and s.present and substr(r.body, 1, 3) <> 'eyJ'
  and (s.name = :prefix::text or (s.name >= :low::text and s.name < :high::text))
  and (r.name = :prefix::text or (r.name >= :low::text and r.name < :high::text))
order by s.name limit 10

-- name: look
-- rank: read by name
-- What each name holds now; a tombstone answers with its revision and no bytes.
select i.n, s.revision, s.present, r.body, s.digest, s.changed_at
from unnest(:name::text[]) with ordinality as i(name, n)
join steadhold.state s on s.workspace = :workspace::text and s.name = any(:name::text[]) and s.name = i.name
left join lateral (
  select r.body from steadhold.state_revisions r
  where s.present and r.workspace = :workspace::text and r.name = s.name and r.revision = s.revision
  offset 0  -- found one by one: a join may read all of them
) r on true

-- name: look_at
-- rank: read
-- One kept revision, with what the name holds now and the oldest that is kept.
select s.revision, r.revision is not null, r.body, r.digest, r.written_at,
  (select min(o.revision) from steadhold.state_revisions o
   where o.workspace = :workspace::text and o.name = s.name)
from steadhold.state s
left join steadhold.state_revisions r
  on r.workspace = :workspace::text and r.name = s.name and r.revision = :revision::bigint
where s.workspace = :workspace::text and s.name = :name::text

-- name: names
-- rank: read
-- A page of the names under prefixes, in byte order. `first` and `last` bound them all, so that one prefix is a range
-- of the index: without an `or`, which a plan made for all arguments could only test name by name.
select s.name, s.revision, s.bytes, s.digest, s.changed_at
from steadhold.state s
where s.workspace = :workspace::text and s.present
  and s.name > :after::text and s.name >= :first::text and s.name < :last::text
  and exists (
    select from unnest(:exact::text[], :low::text[], :high::text[]) as p(exact, low, high)
    where p.high = '' or s.name = p.exact or (s.name >= p.low and s.name < p.high))
order by s.name limit :limit::bigint

-- name: revisions
-- rank: read
-- A page of what is kept of one name, newest first.
select r.revision, coalesce(octet_length(r.body), 0), r.digest, r.written_at, r.body is null
from steadhold.state_revisions r
where r.workspace = :workspace::text and r.name = :name::text and r.revision < :before::bigint
order by r.revision desc limit :limit::bigint

-- name: old_tombstones
-- rank: names
-- Lock a batch of tombstones that are past their window, the oldest first.
select s.name, s.revision from steadhold.state s
where s.workspace = :workspace::text and s.gone_at < (select steadhold.clock()) - make_interval(secs => :seconds::float8)
order by s.gone_at limit :limit::bigint
for update skip locked

-- name: raise_floor
-- rank: names
-- Numbers of purged names are never issued again.
update steadhold.workspaces w set revision_floor = greatest(w.revision_floor, :floor::bigint)
where w.workspace = :workspace::text

-- name: bury
-- rank: names
-- Remove purged names with what was kept of them.
with gone as (
  delete from steadhold.state s
  where s.workspace = :workspace::text and s.name = any(:names::text[]) and not s.present
  returning s.name
)
delete from steadhold.state_revisions r using gone
where r.workspace = :workspace::text and r.name = any(:names::text[]) and r.name = gone.name
