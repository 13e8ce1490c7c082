-- Beside a join with its items each statement says `= any(…)`: see fences. `inboxes_now` and `inbox_consumers_now` are
-- views that know the epoch of now.

-- name: hold
-- rank: counters by inbox
-- Takes the counter of each inbox until commit. What comes next sees all that was committed before.
with locked as materialized (
  select b.name, b.id, b.revision, b.present from steadhold.inboxes b
  where b.workspace = :workspace::text and b.name = any(:inbox::text[])
  order by b.name for no key update
)
select i.n, l.id, l.revision, l.present
from unnest(:inbox::text[]) with ordinality as i(inbox, n) join locked l on l.name = i.inbox

-- name: append
-- rank: counters by inbox
-- Numbers what is new, in the order in which it came. A number is given only to what is stored, so that none is missing.
-- Of several under one key the first counts. Each counter is taken until commit, and keys are looked up after that, in
-- functions: they see what was committed while they waited, and what this statement sees itself was before.
with i as materialized (
  select * from unnest(:inbox::text[], :life::uuid[], :key::text[], :event_id::text[], :digest::bytea[], :head::bytea[],
      :content_type::text[], :body::bytea[])
    with ordinality as i(inbox, life, key, event_id, digest, head, content_type, body, n)
), box as materialized (
  select b.name, b.id, b.last_sequence, b.base_sequence, b.epoch, b.incarnation, b.rotated, steadhold.clock() as at
  from steadhold.held_inboxes(:workspace::text, :inbox::text[]) b
  where exists (  -- what was made after this began is not there yet: nothing below would see its counter
    select from steadhold.inboxes x
    where x.workspace = :workspace::text and x.name = any(:inbox::text[]) and x.name = b.name)
), asked as materialized (
  select i.*, b.id, b.epoch, b.at, b.last_sequence
  from i join box b on b.name = i.inbox and coalesce(i.life = b.id, true)
), known as materialized (
  select b.name as inbox, k.key, k.sequence, k.event_id, k.digest, k.accepted_at
  from steadhold.known_keys(:workspace::text, array(select box.id from box), :key::text[]) k
  join box b on b.id = k.inbox
), first as materialized (
  select min(a.n) as n from asked a group by a.inbox, a.key
), fresh as materialized (
  select a.*, a.last_sequence + row_number() over (partition by a.inbox order by a.n) as sequence
  from asked a join first on first.n = a.n
  where not exists (select from known k where k.inbox = a.inbox and k.key = a.key)
), grown as (
  update steadhold.inboxes x
  set last_sequence = x.last_sequence + g.count, bytes = x.bytes + g.bytes, epoch = g.epoch,
    incarnation = g.incarnation, base_sequence = g.base_sequence
  from (
    select b.name, b.epoch, b.incarnation, b.base_sequence, count(*) as count,
      sum(octet_length(f.head) + coalesce(octet_length(f.body), 0)) as bytes
    from box b join fresh f on f.inbox = b.name
    group by b.name, b.epoch, b.incarnation, b.base_sequence
  ) g
  where x.workspace = :workspace::text and x.name = any(:inbox::text[]) and x.name = g.name
), turned as (
  insert into steadhold.inbox_epochs (workspace, inbox, incarnation, epoch, base_sequence)
  select :workspace::text, b.id, b.incarnation, b.epoch, b.base_sequence from box b
  where b.rotated and b.name in (select f.inbox from fresh f)
), stored as (
  insert into steadhold.inbox_events (workspace, inbox, sequence, event_id, accepted_at, content_type, head, body)
  select :workspace::text, f.id, f.sequence, f.event_id, f.at, f.content_type, f.head, f.body from fresh f
), remembered as (
  insert into steadhold.inbox_keys (workspace, inbox, key, sequence, event_id, digest, accepted_at)
  select :workspace::text, f.id, f.key, f.sequence, f.event_id, f.digest, f.at from fresh f
)
select a.n, coalesce(f.sequence, k.sequence), a.epoch, coalesce(f.event_id, k.event_id), coalesce(f.at, k.accepted_at),
  f.n is null or f.n <> a.n, a.digest <> coalesce(f.digest, k.digest)
from asked a
left join fresh f on f.inbox = a.inbox and f.key = a.key
left join known k on k.inbox = a.inbox and k.key = a.key

-- name: receipt
-- rank: read
-- What was accepted under a key, or that it never was.
select b.epoch, k.sequence, k.event_id, k.accepted_at, steadhold.clock(), b.max_age_seconds
from steadhold.inboxes_now b
left join steadhold.inbox_keys k on k.workspace = :workspace::text and k.inbox = b.id and k.key = :key::text
  and k.inbox = any(array(
    select x.id from steadhold.inboxes x where x.workspace = :workspace::text and x.name = :inbox::text))
where b.workspace = :workspace::text and b.name = :inbox::text and b.present

-- name: page
-- rank: read
-- What follows a position, with what is gone and where the inbox stands: one statement, so that all of it is of one
-- moment. The page ends with the event with which it reaches `bytes`.
with box as materialized (
  select b.id, b.epoch, b.first_sequence, b.last_sequence, greatest(coalesce(:after::bigint, 0), b.first_sequence - 1) as low,
    coalesce(:after::bigint, b.first_sequence - 1) as after
  from steadhold.inboxes_now b
  where b.workspace = :workspace::text and b.name = :inbox::text and b.present
), told as materialized (
  select b.*, array(
    select json_build_array(greatest(g.from_sequence, b.after + 1), g.to_sequence, g.reason,
      extract(epoch from g.at))::text
    from steadhold.inbox_gaps g
    where g.workspace = :workspace::text and g.inbox = b.id and g.to_sequence > b.after
    order by g.from_sequence) as gaps
  from box b
)
select b.epoch, b.first_sequence, b.last_sequence, b.low, b.gaps, e.*
from told b left join lateral (
  select x.sequence, x.event_id, x.accepted_at, x.content_type, x.head, x.body from (
    select e.*, sum(octet_length(e.head) + coalesce(octet_length(e.body), 0)) over (order by e.sequence rows
      between unbounded preceding and 1 preceding) as before
    from steadhold.inbox_events e
    where e.workspace = :workspace::text and e.inbox = b.id and e.sequence > b.low
      and coalesce(:epoch::text = b.epoch, true)
    order by e.sequence limit :limit::bigint
  ) x where coalesce(x.before, 0) < :bytes::bigint
) e on true
order by e.sequence

-- name: look
-- rank: read
select b.name, b.revision, b.max_age_seconds, b.max_events, b.max_bytes, b.epoch, b.first_sequence, b.last_sequence,
  b.bytes, b.made_at
from steadhold.inboxes_now b
where b.workspace = :workspace::text and b.name = :inbox::text and b.present

-- name: names
-- rank: read
-- A page of the inboxes that may be shown, in byte order.
select b.name, b.revision, b.max_age_seconds, b.max_events, b.max_bytes, b.epoch, b.first_sequence, b.last_sequence,
  b.bytes, b.made_at
from steadhold.inboxes_now b
where b.workspace = :workspace::text and b.present and b.name > :after::text
  and (:all::bool or b.name = any(:only::text[]))
order by b.name limit :limit::bigint

-- name: make
-- rank: counters
-- Makes an inbox where there is none. One that was deleted begins another life: its old events are not its own.
with house as materialized (
  select (select h.incarnation from steadhold.house h where h.single) as incarnation,
    (select h.began_at from steadhold.house h where h.single) as began_at
), first as materialized (
  select house.*, greatest(house.incarnation << 32, (
    select w.revision_floor from steadhold.workspaces w where w.workspace = :workspace::text)) + 1 as revision
  from house
)
insert into steadhold.inboxes as b (workspace, name, id, revision, present, epoch, incarnation, max_age_seconds,
  max_events, max_bytes, made_at, changed_at)
select :workspace::text, :inbox::text, f.id, f.revision, true, steadhold.inbox_epoch(f.id, f.incarnation, f.began_at),
  f.incarnation, :max_age_seconds::float8, :max_events::bigint, :max_bytes::bigint, steadhold.clock(), steadhold.clock()
from (select first.*, steadhold.inbox_id(:workspace::text, :inbox::text, first.revision) as id from first) f
on conflict (workspace, name) do update set
  id = steadhold.inbox_id(b.workspace, b.name, greatest(b.revision + 1, excluded.revision)),
  revision = greatest(b.revision + 1, excluded.revision), present = true, incarnation = excluded.incarnation,
  epoch = steadhold.inbox_epoch(steadhold.inbox_id(b.workspace, b.name, greatest(b.revision + 1, excluded.revision)),
    excluded.incarnation, (select house.began_at from house)),
  base_sequence = 0, first_sequence = 1, last_sequence = 0, bytes = 0,
  max_age_seconds = excluded.max_age_seconds, max_events = excluded.max_events, max_bytes = excluded.max_bytes,
  made_at = excluded.made_at, changed_at = excluded.changed_at
where not b.present
returning b.id, b.revision

-- name: change
-- rank: counters
-- Changes an inbox that is held: what it keeps, or (`present` false) that it is no more. One that goes leaves a revision
-- above all numbers of its consumers, which are held: where it is made anew, theirs begin there.
update steadhold.inboxes b set
  revision = greatest(b.revision, (select h.incarnation << 32 from steadhold.house h where h.single), (
    select max(greatest(c.revision, c.told)) from steadhold.inbox_consumers c
    where c.workspace = :workspace::text and c.inbox = b.id and not :present::bool)) + 1,
  present = :present::bool, max_age_seconds = :max_age_seconds::float8, max_events = :max_events::bigint,
  max_bytes = :max_bytes::bigint, changed_at = steadhold.clock()
where b.workspace = :workspace::text and b.name = :inbox::text
returning b.revision

-- name: plan_sweep
-- rank: counters
-- Says when somebody looks what can go.
insert into steadhold.inbox_sweeps as s (workspace, inbox, what, name, check_at)
select :workspace::text, :id::uuid, w, :inbox::text, steadhold.clock() + make_interval(secs => :seconds::float8)
from unnest(:whats::text[]) w
on conflict (workspace, inbox, what) do update set check_at = excluded.check_at

-- name: due_sweeps
-- rank: read
-- What is to be looked at, the longest due first. Nothing is locked: whoever holds the inbox does it.
select s.inbox, s.what, s.name from steadhold.inbox_sweeps s
where s.workspace = :workspace::text and s.check_at <= (select steadhold.clock())
order by s.check_at limit :limit::bigint

-- name: hold_idle
-- rank: counters
-- As `hold`, unless somebody else has it.
select b.id from steadhold.inboxes b
where b.workspace = :workspace::text and b.name = :inbox::text and b.id = :id::uuid and b.present
for no key update skip locked

-- name: shrink
-- rank: counters
-- Removes the oldest events that an inbox does not keep, at most so many, and says in the same breath that they are gone.
-- It begins at the first that is left: those removed before may lie dead in the index for long.
with box as materialized (
  select b.* from steadhold.inboxes b
  where b.workspace = :workspace::text and b.name = :inbox::text and b.id = :id::uuid
), oldest as materialized (
  select e.sequence, e.accepted_at, octet_length(e.head) + coalesce(octet_length(e.body), 0) as bytes,
    sum(octet_length(e.head) + coalesce(octet_length(e.body), 0)) over (order by e.sequence) as upto
  from steadhold.inbox_events e
  where e.workspace = :workspace::text and e.inbox = :id::uuid and e.sequence >= (select b.first_sequence from box b)
  order by e.sequence limit :limit::bigint
), kept as (
  select min(o.sequence) as sequence from oldest o cross join box b
  where (b.max_events is null or o.sequence > b.last_sequence - b.max_events)
    and (b.max_bytes is null or b.bytes - (o.upto - o.bytes) <= b.max_bytes)
    and (b.max_age_seconds is null or o.accepted_at >= steadhold.clock() - make_interval(secs => b.max_age_seconds))
), past as materialized (
  select max(o.sequence) as upto, count(*) as count, sum(o.bytes) as bytes from oldest o
  where o.sequence < coalesce((select k.sequence from kept k), o.sequence + 1)
), removed as (
  delete from steadhold.inbox_events e
  where e.workspace = :workspace::text and e.inbox = :id::uuid
    and e.sequence between (select b.first_sequence from box b) and (select p.upto from past p)
), told as (
  insert into steadhold.inbox_gaps as g (workspace, inbox, from_sequence, to_sequence, reason, at)
  select :workspace::text, b.id, 1, p.upto, 'retention', steadhold.clock() from past p cross join box b where p.count > 0
  on conflict (workspace, inbox, from_sequence) do update set to_sequence = excluded.to_sequence, at = excluded.at
), moved as (
  update steadhold.inboxes b set first_sequence = p.upto + 1, bytes = b.bytes - p.bytes
  from past p where p.count > 0 and b.workspace = :workspace::text and b.name = :inbox::text and b.id = :id::uuid
)
select p.count from past p

-- name: forget_keys
-- rank: read
-- Forgets keys whose time is over; never that of an event that is kept.
with gone as materialized (
  select k.ctid from steadhold.inbox_keys k
  join steadhold.inboxes b on b.workspace = :workspace::text and b.name = :inbox::text and b.id = k.inbox
  where k.workspace = :workspace::text and k.inbox = :id::uuid and k.sequence < b.first_sequence
    and k.accepted_at < (select steadhold.clock())
      - make_interval(secs => :kept_seconds::float8 + coalesce(b.max_age_seconds, 0))
  limit :limit::bigint
), removed as (
  delete from steadhold.inbox_keys k where k.workspace = :workspace::text and k.ctid = any(array(select ctid from gone))
  returning 1
)
select count(*) from removed

-- name: clear
-- rank: read
-- Removes what a deleted inbox left, a piece at a time: nobody reaches it any more.
with events as (
  delete from steadhold.inbox_events e where e.workspace = :workspace::text and e.ctid = any(array(
    select x.ctid from steadhold.inbox_events x
    where x.workspace = :workspace::text and x.inbox = :id::uuid limit :limit::bigint))
  returning 1
), keys as (
  delete from steadhold.inbox_keys k where k.workspace = :workspace::text and k.ctid = any(array(
    select x.ctid from steadhold.inbox_keys x
    where x.workspace = :workspace::text and x.inbox = :id::uuid limit :limit::bigint))
  returning 1
), consumers as (
  delete from steadhold.inbox_consumers c where c.workspace = :workspace::text and c.ctid = any(array(
    select x.ctid from steadhold.inbox_consumers x
    where x.workspace = :workspace::text and x.inbox = :id::uuid limit :limit::bigint))
  returning 1
)
select (select count(*) from events) + (select count(*) from keys) + (select count(*) from consumers)

-- name: cleared
-- rank: read
-- Removes the last of a deleted inbox.
with gaps as (
  delete from steadhold.inbox_gaps g where g.workspace = :workspace::text and g.inbox = :id::uuid
), epochs as (
  delete from steadhold.inbox_epochs e where e.workspace = :workspace::text and e.inbox = :id::uuid
), doors as (
  delete from steadhold.doors d where d.workspace = :workspace::text and d.inbox = :id::uuid returning d.id
), places as (
  delete from steadhold.door_places p where p.workspace = :workspace::text and p.door = any(array(select doors.id from doors))
)
delete from steadhold.inbox_sweeps s where s.workspace = :workspace::text and s.inbox = :id::uuid

-- name: hold_consumer
-- rank: consumers by inbox, consumer
-- Holds consumers until commit, so that a lease and an acknowledgement of one never cross.
with i as materialized (
  select b.id, i.inbox, i.consumer, array_agg(i.n) as ns
  from unnest(:inbox::text[], :consumer::text[]) with ordinality as i(inbox, consumer, n)
  join steadhold.inboxes b on b.workspace = :workspace::text and b.name = any(:inbox::text[]) and b.name = i.inbox
    and b.present
  group by b.id, i.inbox, i.consumer
), locked as materialized (
  select i.ns, c.revision, c.present, c.id
  from (select * from i order by i.inbox, i.consumer offset 0) i cross join lateral (
    select c.revision, c.present, c.inbox as id from steadhold.inbox_consumers c
    where c.workspace = :workspace::text and c.inbox = i.id and c.name = i.consumer for no key update) c
)
select n.n, l.revision, l.present, l.id from locked l cross join lateral unnest(l.ns) as n(n)

-- name: hold_consumers
-- rank: consumers
-- All of an inbox that is about to go: whoever relies on where one stands goes first.
select c.name from steadhold.inbox_consumers c
where c.workspace = :workspace::text and c.inbox = (
  select b.id from steadhold.inboxes b where b.workspace = :workspace::text and b.name = :inbox::text and b.present)
order by c.name for no key update

-- name: acknowledge
-- rank: consumers by inbox, consumer
-- Moves consumers that are held (`hold_consumer`) forward, never back and never beyond the last event.
with i as materialized (
  select * from unnest(:inbox::text[], :consumer::text[], :subject::text[], :fenced::bool[], :epoch::text[],
      :sequence::bigint[], :through::bigint[])
    with ordinality as i(inbox, consumer, subject, fenced, epoch, sequence, through, n)
), house as materialized (
  select (select h.incarnation from steadhold.house h where h.single) as incarnation,
    (select h.began_at from steadhold.house h where h.single) as began_at
), leased as materialized (
  select g.subject from steadhold.grants g cross join house
  where g.workspace = :workspace::text and g.subject = any(:subject::text[])
    and steadhold.grant_end(g.until, g.fence, g.length_seconds, house.incarnation, house.began_at) > steadhold.clock()
), seen as materialized (
  select i.n, i.inbox, i.consumer, i.sequence, c.inbox as id, c.epoch, c.incarnation, c.position, c.first_sequence,
    c.last_sequence,
    case when not i.fenced and exists (select from leased l where l.subject = i.subject) then 'leased'
      when i.epoch <> c.epoch then 'restored'
      when i.sequence > c.last_sequence then 'beyond'
      when i.sequence > c.position and c.first_sequence - 1 > c.position
        and coalesce(i.through, 0) < least(i.sequence, c.first_sequence - 1) then 'gap'
      else 'fits' end as verdict
  from i join steadhold.inbox_consumers_now c on c.workspace = :workspace::text and c.name = any(:consumer::text[])
    and c.inbox = any(array(
      select b.id from steadhold.inboxes b where b.workspace = :workspace::text and b.name = any(:inbox::text[])))
    and c.inbox_name = any(:inbox::text[]) and c.inbox_name = i.inbox and c.name = i.consumer and c.present
), fit as materialized (
  select distinct on (s.id, s.consumer) s.* from seen s where s.verdict = 'fits' order by s.id, s.consumer, s.sequence desc
), moved as (
  update steadhold.inbox_consumers c
  set position = f.sequence, incarnation = f.incarnation, changed_at = steadhold.clock()
  from fit f
  where f.sequence > f.position and c.workspace = :workspace::text and c.inbox = any(array(select fit.id from fit))
    and c.name = any(:consumer::text[]) and c.inbox = f.id and c.name = f.consumer
)
select s.n, s.verdict, s.epoch, greatest(s.position, f.sequence), s.position, s.first_sequence, s.last_sequence
from seen s left join fit f on f.id = s.id and f.consumer = s.consumer

-- name: consumer
-- rank: read
with house as materialized (
  select (select h.incarnation from steadhold.house h where h.single) as incarnation,
    (select h.began_at from steadhold.house h where h.single) as began_at
)
select c.inbox_name, c.name, c.revision, c.epoch, c.position, c.first_sequence, c.last_sequence, g.holder, g.fence, g.until
from steadhold.inbox_consumers_now c left join lateral (
  select g.holder, g.fence, steadhold.grant_end(g.until, g.fence, g.length_seconds, h.incarnation, h.began_at) as until
  from steadhold.grants g cross join house h
  where g.workspace = :workspace::text and g.subject = 'consumer:' || c.inbox_name || '/' || c.name
    and steadhold.grant_end(g.until, g.fence, g.length_seconds, h.incarnation, h.began_at) > steadhold.clock()
  offset 0) g on true
where c.workspace = :workspace::text and c.present and c.name = :consumer::text and c.inbox_name = :inbox::text and c.inbox = (
  select b.id from steadhold.inboxes b where b.workspace = :workspace::text and b.name = :inbox::text)

-- name: consumers
-- rank: read
-- A page of the consumers of an inbox, in byte order.
with house as materialized (
  select (select h.incarnation from steadhold.house h where h.single) as incarnation,
    (select h.began_at from steadhold.house h where h.single) as began_at
)
select c.inbox_name, c.name, c.revision, c.epoch, c.position, c.first_sequence, c.last_sequence, g.holder, g.fence, g.until
from (
  select c.* from steadhold.inbox_consumers_now c
  where c.workspace = :workspace::text and c.present and c.name > :after::text and c.inbox_name = :inbox::text and c.inbox = (
    select b.id from steadhold.inboxes b where b.workspace = :workspace::text and b.name = :inbox::text)
  order by c.name limit :limit::bigint
) c left join lateral (
  select g.holder, g.fence, steadhold.grant_end(g.until, g.fence, g.length_seconds, h.incarnation, h.began_at) as until
  from steadhold.grants g cross join house h
  where g.workspace = :workspace::text and g.subject = 'consumer:' || c.inbox_name || '/' || c.name
    and steadhold.grant_end(g.until, g.fence, g.length_seconds, h.incarnation, h.began_at) > steadhold.clock()
  offset 0) g on true
order by c.name

-- name: make_consumer
-- rank: consumers
-- Makes a consumer, or lets one that is there begin further on. Its floor never falls while it lives. Its revisions, and
-- the numbers under which it is told of, begin at the revision of its inbox: none is of an inbox that was there before.
with house as materialized (
  select (select h.incarnation << 32 from steadhold.house h where h.single) as base,
    (select w.revision_floor from steadhold.workspaces w where w.workspace = :workspace::text) as floor
), box as materialized (
  select b.* from steadhold.inboxes_now b
  where b.workspace = :workspace::text and b.name = :inbox::text and b.present
), start as materialized (
  select b.id, b.incarnation, case :at::text when 'earliest' then b.first_sequence - 1 when 'latest' then b.last_sequence
    else :sequence::bigint end as position, b.revision - 1 as before
  from box b
), was as materialized (
  select c.position, c.revision from steadhold.inbox_consumers_now c
  where c.workspace = :workspace::text and c.name = :consumer::text and c.present
    and c.inbox_name = :inbox::text and c.inbox = (select start.id from start)
)
insert into steadhold.inbox_consumers as c
  (workspace, inbox, name, revision, present, position, incarnation, made_at, changed_at, told)
select :workspace::text, s.id, :consumer::text, greatest(house.floor, house.base, s.before) + 1, true,
  greatest(s.position, (select was.position from was)), s.incarnation, steadhold.clock(), steadhold.clock(), s.before
from start s cross join house
on conflict (workspace, inbox, name) do update set
  revision = greatest(c.revision, excluded.revision - 1) + 1, present = true, position = excluded.position,
  incarnation = excluded.incarnation, changed_at = excluded.changed_at
where case when :expected::bigint is null then not c.present else c.present and c.revision = :expected::bigint end
returning c.revision

-- name: drop_consumer
-- rank: consumers
-- Leaves a tombstone, which keeps the revision.
update steadhold.inbox_consumers c set present = false, changed_at = steadhold.clock(),
  revision = greatest(c.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
where c.workspace = :workspace::text and c.inbox = :id::uuid and c.name = :consumer::text
returning c.revision

-- name: find_door
-- rank: read
-- all workspaces: an address is all that is known of a request, and only it tells its workspace.
select f.workspace, f.door::text, f.inbox, f.requests_per_second_max from steadhold.find_door(:hash::bytea) f

-- name: enter
-- rank: consumers by door
-- What proves who comes in, held until commit: what was rotated out or deleted before proves nothing after. A secret's
-- grace is tested once it is held. A door leads to the inbox that it was made for, and to none made after that.
with locked as materialized (
  select d.id, d.inbox, d.inbox_name, d.scheme, d.id_from, d.sealed, d.old_sealed, d.old_until
  from steadhold.doors d
  where d.workspace = :workspace::text and d.id = any(:door::uuid[])
  order by d.id for key share
)
select i.n, l.inbox_name, l.inbox, l.scheme, l.id_from, l.sealed,
  case when l.old_until > steadhold.clock() then l.old_sealed end, floor(extract(epoch from steadhold.clock()))::bigint
from unnest(:door::uuid[]) with ordinality as i(door, n) join locked l on l.id = i.door

-- name: count_doors
-- rank: read
select count(*) from steadhold.doors d where d.workspace = :workspace::text and d.inbox = :id::uuid

-- name: make_door
-- rank: consumers
with place as (
  insert into steadhold.door_places (hash, workspace, door) values (:hash::bytea, :workspace::text, :door::uuid)
)
insert into steadhold.doors
  (workspace, id, inbox, inbox_name, revision, scheme, id_from, sealed, made_at, changed_at)
select :workspace::text, :door::uuid, :id::uuid, :inbox::text,
  greatest(
    (select w.revision_floor from steadhold.workspaces w where w.workspace = :workspace::text),
    (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  :scheme::text, :id_from::text, :sealed::bytea, c.at, c.at
from (select steadhold.clock() as at) c

-- name: hold_door
-- rank: consumers
-- Takes a door away from whoever comes in meanwhile: they come before it, or after.
select d.revision from steadhold.doors d
where d.workspace = :workspace::text and d.id = :door::uuid and d.inbox_name = :inbox::text for update

-- name: door
-- rank: read
-- A door as it is told: never its secrets, nor its address. One whose inbox is gone is none.
select d.id::text, d.inbox_name, d.revision, d.scheme, d.id_from, d.made_at, d.changed_at,
  case when d.old_until > steadhold.clock() then d.old_until end
from steadhold.doors d
where d.workspace = :workspace::text and d.id = :door::uuid and d.inbox = (
  select b.id from steadhold.inboxes b where b.workspace = :workspace::text and b.name = :inbox::text and b.present)

-- name: doors
-- rank: read
-- A page of the doors of an inbox, in the order in which they were made.
select d.id::text, d.inbox_name, d.revision, d.scheme, d.id_from, d.made_at, d.changed_at,
  case when d.old_until > steadhold.clock() then d.old_until end
from steadhold.doors d
where d.workspace = :workspace::text and d.id > :after::uuid and d.inbox = (
  select b.id from steadhold.inboxes b where b.workspace = :workspace::text and b.name = :inbox::text and b.present)
order by d.id limit :limit::bigint

-- name: rotate_door
-- rank: consumers
-- The new secret is valid at once, the one before it for the grace; the one before that ends here.
update steadhold.doors d set
  revision = greatest(d.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  sealed = :sealed::bytea, changed_at = steadhold.clock(),
  old_sealed = case when :grace_seconds::float8 > 0 then d.sealed end,
  old_until = case when :grace_seconds::float8 > 0
    then steadhold.clock() + make_interval(secs => :grace_seconds::float8) end
where d.workspace = :workspace::text and d.id = :door::uuid

-- name: drop_door
-- rank: consumers
with gone as (
  delete from steadhold.doors d where d.workspace = :workspace::text and d.id = :door::uuid
)
delete from steadhold.door_places p where p.workspace = :workspace::text and p.door = :door::uuid

-- name: told
-- rank: read
-- Numbers what is told of a consumer that is held. What a consumer is told of goes on when it is made again.
update steadhold.inbox_consumers c set
  told = greatest(c.told, (select h.incarnation << 32 from steadhold.house h where h.single)) + :count::int
where c.workspace = :workspace::text and c.inbox = :id::uuid and c.name = :consumer::text
returning c.told

-- name: begin_lease
-- rank: read
-- The lease of a held consumer; answers the one before, where nobody has said that it ended.
with was as materialized (
  select c.leased from steadhold.inbox_consumers c
  where c.workspace = :workspace::text and c.inbox = :id::uuid and c.name = :consumer::text
)
update steadhold.inbox_consumers c set leased = :fence::bigint
where c.workspace = :workspace::text and c.inbox = :id::uuid and c.name = :consumer::text
returning (select was.leased from was)

-- name: end_lease
-- rank: read by id, consumer
-- The lease of held consumers ends, unless another has begun or its end is told already.
update steadhold.inbox_consumers c set leased = null
from unnest(:id::uuid[], :consumer::text[], :fence::bigint[]) with ordinality as i(id, consumer, fence, n)
where c.workspace = :workspace::text and c.inbox = any(:id::uuid[]) and c.inbox = i.id
  and c.name = any(:consumer::text[]) and c.name = i.consumer and c.leased = i.fence
returning i.n, true
