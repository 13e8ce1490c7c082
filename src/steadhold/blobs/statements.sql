-- name: store
-- rank: blobs by digest
-- Stores bytes that are not there yet. Where they are just being pruned, this waits and stores them anew.
insert into steadhold.blobs (workspace, digest, bytes)
select distinct on (digest) :workspace::text, digest, bytes
from unnest(:digest::bytea[], :bytes::bytea[]) with ordinality as i(digest, bytes, n)
order by digest
on conflict (workspace, digest, chunk) do nothing

-- name: pin
-- rank: blobs by digest, owner
-- Pins bytes that are there, and locks them until commit: a prune passes over them, and one that came first is
-- waited for. Bytes that are gone get no answer, instead of an error of the foreign key. It answers whether the pin
-- is new.
with i as materialized (
  select * from unnest(:digest::bytea[], :owner::text[]) with ordinality as i(digest, owner, n)
), locked as materialized (
  select b.digest from steadhold.blobs b
  where b.workspace = :workspace::text and b.chunk = 0 and b.digest = any(:digest::bytea[])
  order by b.digest for key share
), pinned as (
  insert into steadhold.pins as p (workspace, owner, digest)
  select distinct :workspace::text, i.owner, i.digest from i join locked using (digest) order by i.digest, i.owner
  on conflict (workspace, owner, digest) do nothing
  returning p.digest, p.owner
)
select i.n, pinned.digest is not null
from i join locked using (digest) left join pinned on pinned.digest = i.digest and pinned.owner = i.owner

-- name: unpin
-- rank: blobs by digest, owner
-- Lets go of bytes, and names them to the pruner. Updating what is named already makes a pruner that has just looked
-- at it, and found this very pin, wait or pass over.
with i as materialized (
  select * from unnest(:digest::bytea[], :owner::text[]) with ordinality as i(digest, owner, n)
), gone as (
  delete from steadhold.pins p using i
  where p.workspace = :workspace::text and p.digest = any(:digest::bytea[])
    and p.owner = i.owner and p.digest = i.digest
  returning i.n, p.digest
), named as (
  insert into steadhold.unpinned as u (workspace, digest)
  select distinct :workspace::text, digest from gone order by digest
  on conflict (workspace, digest) do update set digest = excluded.digest
)
select n from gone

-- name: pinned
-- rank: read
select p.digest from steadhold.pins p where p.workspace = :workspace::text and p.owner = :owner::text order by p.digest

-- name: read
-- rank: read by digest
select i.n, b.bytes
from unnest(:digest::bytea[]) with ordinality as i(digest, n)
join steadhold.blobs b on b.workspace = :workspace::text and b.digest = any(:digest::bytea[]) and b.digest = i.digest
order by i.n, b.chunk

-- name: suspects
-- rank: blobs
-- Locks digests that lost a pin, and their bytes. What somebody pins or unpins at this moment is passed over.
with named as materialized (
  select u.digest from steadhold.unpinned u
  where u.workspace = :workspace::text
  order by u.digest limit :limit::bigint
  for update skip locked
)
select b.digest from steadhold.blobs b
where b.workspace = :workspace::text and b.chunk = 0 and b.digest in (select digest from named)
for update skip locked

-- name: prune
-- rank: blobs
-- Removes the locked ones that nobody has pinned; a statement of its own, so that it sees every pin that was
-- committed before the lock was held. The others are named again when they lose another pin.
with useless as materialized (
  select d.digest from unnest(:digests::bytea[]) as d(digest)
  where not exists (select from steadhold.pins p where p.workspace = :workspace::text and p.digest = d.digest)
), pruned as (
  delete from steadhold.blobs b using useless where b.workspace = :workspace::text and b.digest = useless.digest
), cleared as (
  delete from steadhold.unpinned u where u.workspace = :workspace::text and u.digest = any(:digests::bytea[])
)
select digest from useless
