-- name: claim
-- rank: operations by key
-- Takes keys. Whoever finds a key being taken waits here for the other's end: its commit makes this a replay, its
-- rollback makes this the first. Of several items with one key the first wins.
-- A UUIDv7 says when it was made (born_ms). Its age is tested before, so that nothing is written for one that is
-- refused, and again once the row is ours: a purge may have removed its receipt while we waited.
with i as materialized (
  select key, fingerprint, to_timestamp(born_ms / 1000.0) as born_at,
    make_interval(secs => :ahead_seconds::float8) as ahead, make_interval(secs => :kept_seconds::float8) as kept, n
  from unnest(:key::text[], :fingerprint::bytea[], :born_ms::bigint[])
    with ordinality as i(key, fingerprint, born_ms, n)
), aged as materialized (
  select i.*,
    coalesce(born_at > steadhold.clock() + ahead, false) as early,
    coalesce(born_at < greatest(steadhold.clock() - kept,
      (select h.purged_before from steadhold.receipt_horizons h where h.workspace = :workspace::text)), false) as late
  from i
), first as materialized (
  select distinct on (key) key, fingerprint, n from aged where not early and not late order by key, n
), mine as (
  insert into steadhold.claims as c (workspace, key, fingerprint)
  select :workspace::text, key, fingerprint from first order by key
  on conflict (workspace, key) do nothing
  returning c.key
)
select a.n, mine.key is not null and a.n = first.n, a.early,
  a.late or coalesce(a.born_at < steadhold.clock() - a.kept, false), steadhold.clock()
from aged a left join first using (key) left join mine using (key)

-- name: recall
-- rank: read by key
-- What is known of claimed keys. A claim without a receipt can only be of this very transaction.
select i.n, c.fingerprint, r.key, r.abandoned, r.kind, r.scope, r.scoped, r.subject, r.status, r.body, r.content_type,
  r.headers, r.resource, r.revision, r.fence, r.committed_at
from unnest(:key::text[]) with ordinality as i(key, n)
join steadhold.claims c on c.workspace = :workspace::text and c.key = any(:key::text[]) and c.key = i.key
left join steadhold.receipts r on r.workspace = :workspace::text and r.key = any(:key::text[]) and r.key = i.key

-- name: seal
-- rank: receipts by key
-- Keeps what an operation did, beside its effect.
insert into steadhold.receipts (workspace, key, abandoned, kind, scope, scoped, subject, status, body, content_type,
  headers, resource, revision, fence, committed_at)
select :workspace::text, key, abandoned, kind, scope, scoped, subject, status, body, content_type, headers, resource,
  revision, fence, steadhold.clock()
from unnest(:key::text[], :abandoned::bool[], :kind::text[], :scope::text[], :scoped::text[], :subject::text[],
    :status::int[], :body::bytea[], :content_type::text[], :headers::bytea[], :resource::text[], :revision::bigint[],
    :fence::bigint[])
  with ordinality as i(key, abandoned, kind, scope, scoped, subject, status, body, content_type, headers, resource,
    revision, fence, n)
order by n

-- name: free
-- rank: receipts by key
-- Takes back this transaction's own claims: it waits for nobody, so it may come last.
delete from steadhold.claims c
using unnest(:key::text[]) with ordinality as i(key, n)
where c.workspace = :workspace::text and c.key = any(:key::text[]) and c.key = i.key

-- name: look
-- rank: read
-- The database's clock, whether an id made at that time is older than what is kept, and the receipt if there is one.
select steadhold.clock(),
  coalesce(i.born_at < greatest(steadhold.clock() - make_interval(secs => :kept_seconds::float8),
    (select h.purged_before from steadhold.receipt_horizons h where h.workspace = :workspace::text)), false),
  r.key, r.abandoned, r.kind, r.scope, r.scoped, r.subject, r.status, r.body, r.content_type,
  r.headers, r.resource, r.revision, r.fence, r.committed_at
from (select :key::text, to_timestamp(:born_ms::bigint / 1000.0)) as i(key, born_at)
left join steadhold.receipts r on r.workspace = :workspace::text and r.key = i.key

-- name: list
-- rank: read
select r.key, r.abandoned, r.kind, r.scope, r.scoped, r.subject, r.status, r.body, r.content_type,
  r.headers, r.resource, r.revision, r.fence, r.committed_at
from steadhold.receipts r
where r.workspace = :workspace::text and r.key > :after::text
order by r.key
limit :limit::bigint

-- name: purge
-- rank: read
-- Removes receipts with their claims; what somebody else is removing is passed over, so it waits for nobody.
select steadhold.purge_operations(:workspace::text, :kept_seconds::float8, :ahead_seconds::float8, :limit::bigint)

-- name: near
-- rank: read
-- Receipts of one resource that were kept shortly after instants. There is no index by resource, for which each write
-- would pay: of what was kept after an instant, a bounded part is looked through.
select distinct r.key, r.kind, r.scope, r.scoped, r.subject, r.status, r.committed_at
from unnest(:instants::timestamptz[]) as i(at) cross join lateral (
  select * from steadhold.receipts r
  where r.workspace = :workspace::text and r.committed_at >= i.at and r.committed_at < i.at + interval '2 seconds'
  order by r.committed_at limit :most::bigint
) r
where r.resource = :resource::text and not r.abandoned
order by r.committed_at, r.key
