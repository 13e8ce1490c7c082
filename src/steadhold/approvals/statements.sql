-- part: approval
-- What is read of an approval `a`.
a.id::text, a.revision, a.reference, a.version, a.hash, a.length, a.action, a.title, a.note, a.requester,
  a.approvers, a.approvers_scope, a.quorum, a.allow_requester, a.created_at, a.expires_at, a.usable_seconds, a.state,
  a.ended_at, a."grant", a.usable_until, a.grant_ended_at, a.use_id, a.warned

-- name: request
-- rank: approvals by id
-- A question is written down as it was asked. An id that is there already answers nothing.
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::uuid[], :reference::text[], :version::text[], :hash::text[], :length::bigint[], :action::text[],
    :title::text[], :note::text[], :requester::text[], :approvers::text[], :scope::text[], :quorum::int[],
    :allow_requester::bool[], :expires_in_seconds::float8[], :usable_seconds::float8[], :warned_after::float8[]
  ) with ordinality as i(id, reference, version, hash, length, action, title, note, requester, approvers, scope,
    quorum, allow_requester, expires_in_seconds, usable_seconds, warned_after, n)
  order by i.id, i.n
), moment as materialized (
  select steadhold.clock() as now
), made as (
  insert into steadhold.approvals (workspace, id, revision, reference, version, hash, length, action, title, note,
    requester, approvers, approvers_scope, quorum, allow_requester, created_at, expires_at, usable_seconds, state,
    due_at)
  select :workspace::text, i.id, (select h.incarnation << 32 from steadhold.house h where h.single) + 1,
    i.reference, i.version, i.hash, i.length, i.action, i.title, i.note, i.requester,
    case when i.approvers is not null then array(select json_array_elements_text(i.approvers::json)) end,
    i.scope, i.quorum, i.allow_requester, m.now,
    m.now + make_interval(secs => i.expires_in_seconds), i.usable_seconds, 'pending',
    m.now + make_interval(secs => i.expires_in_seconds * i.warned_after)
  from i cross join moment m order by i.id
  on conflict do nothing
  returning id
)
select i.n from i join made on made.id = i.id

-- name: hold
-- rank: approvals by id
-- The one way to lock approvals by their ids. The clock is asked once each row is held.
with i as (
  select * from unnest(:id::uuid[]) with ordinality as i(id, n)
), held as materialized (
  select a.* from steadhold.approvals a
  where a.workspace = :workspace::text and a.id = any(:id::uuid[])
  order by a.id for no key update
)
select i.n, {approval}, steadhold.clock(), (select h.incarnation << 32 from steadhold.house h where h.single)
from i join held a on a.id = i.id

-- name: look
-- rank: read by id
select i.n, {approval}, steadhold.clock(), (select h.incarnation << 32 from steadhold.house h where h.single)
from unnest(:id::uuid[]) with ordinality as i(id, n)
join steadhold.approvals a on a.workspace = :workspace::text and a.id = any(:id::uuid[]) and a.id = i.id

-- name: deeds
-- rank: read by id
-- What was done to each, in order.
select i.n, d.revision, d.act, d.subject, d.key_id, d.scopes, d.comment, d.at
from unnest(:id::uuid[]) with ordinality as i(id, n)
join steadhold.approval_acts d
  on d.workspace = :workspace::text and d.approval = any(:id::uuid[]) and d.approval = i.id
order by i.n, d.revision

-- name: move
-- rank: read by id
-- A held approval changes. Who finds another revision than it held was overtaken by a twin, and looks again.
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::uuid[], :held::bigint[], :revision::bigint[], :state::text[], :ended_at::timestamptz[], :grant::text[],
    :usable_until::timestamptz[], :grant_ended_at::timestamptz[], :use_id::text[], :warned::bool[],
    :due_at::timestamptz[]
  ) with ordinality as i(id, held, revision, state, ended_at, granted, usable_until, grant_ended_at, use_id, warned,
    due_at, n)
  order by i.id, i.n
)
update steadhold.approvals a set
  revision = i.revision, state = i.state, ended_at = i.ended_at, "grant" = i.granted, usable_until = i.usable_until,
  grant_ended_at = i.grant_ended_at, use_id = i.use_id, warned = i.warned, due_at = i.due_at
from i
where a.workspace = :workspace::text and a.id = any(:id::uuid[]) and a.id = i.id and a.revision = i.held
returning i.n, a.revision

-- name: write_down
-- rank: read by id, revision
-- Who did what to a held approval, and when.
with i as materialized (
  select i.*, steadhold.clock() as at
  from unnest(:id::uuid[], :revision::bigint[], :act::text[], :subject::text[], :key_id::text[], :scopes::text[],
      :comment::text[])
    with ordinality as i(id, revision, act, subject, key_id, scopes, comment, n)
), written as (
  insert into steadhold.approval_acts (workspace, approval, revision, act, subject, key_id, scopes, comment, at)
  select :workspace::text, i.id, i.revision, i.act, i.subject, i.key_id,
    array(select json_array_elements_text(i.scopes::json)), i.comment, i.at
  from i
)
select i.n, i.at from i

-- name: passing
-- rank: approvals
-- Approvals that time has to move, those that nobody else is moving; as they are once each is held.
with held as materialized (
  select a.* from steadhold.approvals a
  where a.workspace = :workspace::text and a.due_at <= (select steadhold.clock())
  order by a.due_at limit :limit::bigint
  for no key update skip locked
)
select {approval}, steadhold.clock(), (select h.incarnation << 32 from steadhold.house h where h.single)
from held a

-- name: listing
-- rank: read
-- planned anew: the wanted state decides about the index
-- A page, newest first. `stored` are the states in which a row may be that is in the one wanted: what is past its
-- time has expired, also while nobody has written that down.
select {approval}, m.now, (select h.incarnation << 32 from steadhold.house h where h.single)
from (select steadhold.clock() as now offset 0) m cross join steadhold.approvals a
where a.workspace = :workspace::text and a.id < :before::uuid
  and (:wanted::text is null or a.state = any(:stored::text[]) and :wanted::text = case
    when a.state = 'pending' and a.expires_at <= m.now then 'expired' else a.state end)
order by a.id desc limit :limit::bigint

-- name: glance
-- rank: read
-- planned anew: a bounded walk of one index
select count(*) from (select from steadhold.approvals a where a.workspace = :workspace::text and a.state = 'pending' limit :most::bigint) c

-- name: approved
-- rank: read
-- planned anew: a bounded walk of one index
-- What was approved last under references that begin so, of the newest `most` that were approved; `before`: earlier than
-- this one was decided.
select {approval}, m.now, (select h.incarnation << 32 from steadhold.house h where h.single)
from (select steadhold.clock() as now offset 0) m cross join (
  select * from steadhold.approvals b where b.workspace = :workspace::text and b.state = 'approved'
  order by b.id desc limit :most::bigint
) a
where starts_with(a.reference, :prefix::text) and a.id <> :except::uuid
  and (:before::timestamptz is null or a.ended_at < :before::timestamptz)
order by a.ended_at desc limit 1
