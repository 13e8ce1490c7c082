-- name: find
-- rank: read
-- all workspaces: a key's id is all that is known of a request, and only the key tells its workspace.
select * from steadhold.find_key(:key_id::text)

-- name: look
-- rank: read
-- One key as it is told.
select t.key_id, t.revision, t.env, t.subject, t.kind, t.scopes, t.state, t.made_by,
  t.created_at, t.expires_at, t.last_used_at, t.old_secret_until
from steadhold.keys_told t
where t.workspace = :workspace::text and t.key_id = :key_id::text

-- name: keys
-- rank: read
-- A page of keys in the order in which they were made.
select t.key_id, t.revision, t.env, t.subject, t.kind, t.scopes, t.state, t.made_by,
  t.created_at, t.expires_at, t.last_used_at, t.old_secret_until
from steadhold.keys_told t
where t.workspace = :workspace::text and t.key_id > :after::text
order by t.key_id limit :limit::bigint

-- name: make
-- rank: names
-- An id that is taken, here or in another workspace, makes nothing.
with place as (
  insert into steadhold.key_places (key_id, workspace) values (:key_id::text, :workspace::text)
  on conflict do nothing
  returning key_id
)
insert into steadhold.keys
  (workspace, key_id, revision, env, subject, kind, scopes, state, hash, made_by, created_at, expires_at)
select :workspace::text, place.key_id,
  greatest(
    (select w.revision_floor from steadhold.workspaces w where w.workspace = :workspace::text),
    (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  :env::text, :subject::text, :kind::text, :scopes::text[], 'active', :hash::bytea, :made_by::text,
  steadhold.clock(), least(steadhold.clock() + make_interval(secs => :seconds::float8), :until::timestamptz)
from place
returning key_id

-- name: lock
-- rank: names
-- The key, held until the commit. Whether it lives is asked after the wait, outside of the query that waits.
with held as materialized (
  select k.* from steadhold.keys k
  where k.workspace = :workspace::text and k.key_id = :key_id::text
  for no key update
)
select held.kind, held.scopes, held.state = 'active' and coalesce(held.expires_at > steadhold.clock(), true),
  extract(epoch from held.expires_at - steadhold.clock())::float8
from held

-- name: rotate
-- rank: names
-- The new secret serves at once, the one before it for the grace; the one before that ends here.
update steadhold.keys k set
  hash = :hash::bytea,
  old_hash = case when :grace::float8 > 0 then k.hash end,
  old_until = case when :grace::float8 > 0 then steadhold.clock() + make_interval(secs => :grace::float8) end,
  revision = greatest(k.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
where k.workspace = :workspace::text and k.key_id = :key_id::text

-- name: revoke
-- rank: names
-- It ends, and what it was compared with before it was rotated goes.
update steadhold.keys k set
  state = 'revoked', old_hash = null, old_until = null,
  revision = greatest(k.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
where k.workspace = :workspace::text and k.key_id = :key_id::text

-- name: used
-- rank: names
-- Write down that keys are in use, at most once a minute each; one that is being changed is left for the next time.
update steadhold.keys k set last_used_at = steadhold.clock()
where k.workspace = :workspace::text and k.key_id in (
  select f.key_id from steadhold.keys f
  where f.workspace = :workspace::text and f.key_id = any(:key_ids::text[])
    and coalesce(f.last_used_at < (select steadhold.clock()) - interval '1 minute', true)
  for no key update skip locked)

-- name: end_keys
-- rank: names
-- What the clock has ended already is written down: keys past their expiry, and secrets past their grace.
with due as materialized (
  select k.key_id from steadhold.keys k
  where k.workspace = :workspace::text and k.state = 'active' and k.sweep_at <= (select steadhold.clock())
  order by k.sweep_at limit :limit::bigint
  for no key update skip locked
)
update steadhold.keys k set
  state = case when k.expires_at <= steadhold.clock() then 'expired' else k.state end,
  old_hash = case when k.old_until > steadhold.clock() then k.old_hash end,
  old_until = case when k.old_until > steadhold.clock() then k.old_until end,
  revision = greatest(k.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
from due
where k.workspace = :workspace::text and k.key_id = due.key_id
returning k.key_id, k.revision, k.state = 'expired'

-- name: found
-- rank: names
-- A name that is taken founds nothing.
insert into steadhold.workspaces (workspace, created_at) values (:workspace::text, steadhold.clock())
on conflict do nothing
returning created_at

-- name: known
-- rank: read
select exists (select from steadhold.workspaces w where w.workspace = :workspace::text)

-- name: workspaces
-- rank: read
-- all workspaces: an operator sees which there are.
select * from steadhold.workspaces_after(:after::text, :limit::bigint)

-- name: look_entitlements
-- rank: read
select e.revision, e.job_types, e.jobs_queued_max, e.jobs_running_max, e.requests_per_second_max,
  e.names_max, e.bytes_max, e.endpoints_max, w.revisions_kept
from steadhold.entitlements e join steadhold.workspaces w on w.workspace = e.workspace
where e.workspace = :workspace::text

-- name: usage
-- rank: read
-- What is counted now, as the rooms count it.
select u.what, u.amount from steadhold.used(:workspace::text) u

-- name: make_entitlements
-- rank: names
insert into steadhold.entitlements (workspace, revision, job_types, jobs_queued_max, jobs_running_max,
  requests_per_second_max, names_max, bytes_max, endpoints_max, changed_at, recount_at)
select :workspace::text,
  greatest(
    (select w.revision_floor from steadhold.workspaces w where w.workspace = :workspace::text),
    (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  :job_types::text[], :jobs_queued_max::bigint, :jobs_running_max::bigint, :requests_per_second_max::bigint,
  :names_max::bigint, :bytes_max::bigint, :endpoints_max::bigint, steadhold.clock(),
  steadhold.clock() + make_interval(secs => :recount_seconds::float8)
on conflict do nothing
returning revision

-- name: change_entitlements
-- rank: names
update steadhold.entitlements e set
  revision = greatest(e.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  job_types = :job_types::text[], jobs_queued_max = :jobs_queued_max::bigint,
  jobs_running_max = :jobs_running_max::bigint, requests_per_second_max = :requests_per_second_max::bigint,
  names_max = :names_max::bigint, bytes_max = :bytes_max::bigint, endpoints_max = :endpoints_max::bigint,
  changed_at = steadhold.clock(), recount_at = steadhold.clock() + make_interval(secs => :recount_seconds::float8)
where e.workspace = :workspace::text and e.revision = :expected::bigint
returning e.revision

-- name: keep_revisions
-- rank: names
-- Writers see it from their next statement on, and take away what is kept no more of the name that they write.
update steadhold.workspaces w set revisions_kept = :revisions_kept::int
where w.workspace = :workspace::text and w.revisions_kept <> :revisions_kept::int
returning w.revisions_kept

-- name: open_meters
-- rank: counters
insert into steadhold.meters (workspace, what, slot, amount)
select :workspace::text, w.what, s.slot, 0
from unnest(array['bytes', 'names']) w(what) cross join generate_series(0, 15) s(slot)
order by w.what, s.slot
on conflict do nothing

-- name: hold_meters
-- rank: counters
-- Whoever added to a meter has committed when this answers, and whoever will add waits: a count is exact.
select 1 from steadhold.meters m where m.workspace = :workspace::text order by m.what, m.slot for no key update

-- name: recount
-- rank: counters
update steadhold.meters m set amount = case when m.slot = 0 then coalesce((
  select sum(u.amount) from steadhold.used(:workspace::text) u where u.what = m.what), 0) else 0 end
where m.workspace = :workspace::text

-- name: recount_later
-- rank: names
-- Take one recount that is due.
update steadhold.entitlements e
set recount_at = steadhold.clock() + make_interval(secs => :recount_seconds::float8)
where e.workspace = (
  select d.workspace from steadhold.entitlements d
  where d.workspace = :workspace::text and d.recount_at <= (select steadhold.clock())
  for no key update skip locked)
returning e.revision

-- name: meter
-- rank: counters by what
-- Add to this connection's slots.
with more as (
  select i.what, sum(i.amount) as amount
  from unnest(:what::text[], :amount::bigint[]) as i(what, amount) group by i.what
), held as materialized (
  select m.what, m.slot from steadhold.meters m
  where m.workspace = :workspace::text and m.slot = pg_catalog.pg_backend_pid() % 16 and m.what = any(:what::text[])
  order by m.what for no key update
)
update steadhold.meters m set amount = m.amount + more.amount
from more join held on held.what = more.what
where m.workspace = :workspace::text and m.what = held.what and m.slot = held.slot

-- name: tell
-- rank: aggregates by aggregate_id, revision
-- The room of events stands above; see migration 0028.
select i.n, steadhold.tell_event(:workspace::text, i.aggregate_id, i.revision, i.type, i.data)
from unnest(:aggregate_id::text[], :revision::bigint[], :type::text[], :data::bytea[])
  with ordinality as i(aggregate_id, revision, type, data, n)
order by i.n

-- name: record
-- rank: receipts
-- One row of the audit. It commits with what it tells of, or not at all.
insert into steadhold.audit (workspace, at, subject, key_id, kind, resource, operation_id)
values (:workspace::text, steadhold.clock(), :subject::text, :key_id::text, :kind::text, :resource::text,
  :operation_id::text)

-- name: trail
-- rank: read
-- planned anew: by subject, by resource or by time alone, each has its index
-- A page of the audit, newest first: from `before` on, so that a late page walks no earlier one.
select a.at, a.number, a.subject, a.key_id, a.kind, a.resource, a.operation_id
from steadhold.audit a
where a.workspace = :workspace::text
  and (:subject::text is null or a.subject = :subject::text)
  and (:kind::text is null or a.kind = :kind::text)
  and (:resource::text is null or a.resource = :resource::text)
  and (a.at, a.number) < (:before::timestamptz, :number::bigint)
order by a.at desc, a.number desc limit :limit::bigint

-- name: session
-- rank: read
-- planned anew: the record of one session is a row or two, and its index finds them
select a.kind, extract(epoch from steadhold.clock() - a.at)::float8
from steadhold.audit a
where a.workspace = :workspace::text and a.resource = :resource::text
order by a.at, a.number limit 3
