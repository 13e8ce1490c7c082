-- name: close
-- rank: names
-- Wait for all who write names of a kind, and have those who come wait for us, until the transaction ends.
select pg_advisory_xact_lock(steadhold.private_lock(:workspace::text, :kind::text))

-- name: make
-- rank: names
-- A prefix is private from now on; no row where it is so already.
insert into steadhold.private_prefixes (workspace, kind, prefix, revision, made_at)
select :workspace::text, :kind::text, :prefix::text, greatest(w.revision_floor, h.incarnation << 32) + 1,
  steadhold.clock()
from steadhold.workspaces w cross join steadhold.house h
where w.workspace = :workspace::text and h.single
on conflict (workspace, kind, prefix) do nothing
returning prefix, revision, made_at

-- name: lift
-- rank: names
-- A prefix is private no more, if it was so under this revision.
with gone as (
  delete from steadhold.private_prefixes p
  where p.workspace = :workspace::text and p.kind = :kind::text and p.prefix = :prefix::text
    and p.revision = :revision::bigint
  returning p.revision
)
-- What is made private again has a higher revision: the floor of the workspace stands above this one.
update steadhold.workspaces w set revision_floor = greatest(w.revision_floor, gone.revision) from gone
where w.workspace = :workspace::text
returning gone.revision

-- name: look
-- rank: read
-- One prefix.
select p.prefix, p.revision, p.made_at from steadhold.private_prefixes p
where p.workspace = :workspace::text and p.kind = :kind::text and p.prefix = :prefix::text

-- name: page
-- rank: read
-- The prefixes of a kind, in byte order.
select p.prefix, p.revision, p.made_at from steadhold.private_prefixes p
where p.workspace = :workspace::text and p.kind = :kind::text and p.prefix > :after::text
order by p.prefix limit :limit::bigint
