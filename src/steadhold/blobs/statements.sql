-- name: store
-- rank: blobs by digest, chunk
-- Stores the chunks of bytes that are not there yet: who stores the first one stores the others. Where the bytes are
-- just being pruned, this waits and stores them anew.
with i as (
  select distinct on (digest, chunk) digest, chunk, bytes
  from unnest(:digest::bytea[], :chunk::int[], :bytes::bytea[]) with ordinality as i(digest, chunk, bytes, n)
  order by digest, chunk, n
), made as (
  insert into steadhold.blobs (workspace, digest, bytes)
  select :workspace::text, digest, bytes from i where chunk = 0 order by digest
  on conflict (workspace, digest, chunk) do nothing
  returning digest
)
insert into steadhold.blobs (workspace, digest, chunk, bytes)
select :workspace::text, i.digest, i.chunk, i.bytes from i join made using (digest) where i.chunk > 0

-- name: keep
-- rank: blobs by upload, chunk
-- Keeps a chunk of an upload. One that is sent again, because nobody knows whether it came, changes nothing.
insert into steadhold.blobs (workspace, digest, chunk, bytes)
select :workspace::text, upload, -1 - chunk, bytes
from unnest(:upload::bytea[], :chunk::int[], :bytes::bytea[]) with ordinality as i(upload, chunk, bytes, n)
order by upload, chunk
on conflict (workspace, digest, chunk) do nothing

-- name: adopt
-- rank: blobs by digest
-- Stores the first chunk of an upload that is whole under its digest, as `store` does, and answers whether it did.
with i as (
  select distinct on (digest) digest, upload, n
  from unnest(:digest::bytea[], :upload::bytea[]) with ordinality as i(digest, upload, n)
  order by digest, n
), made as (
  insert into steadhold.blobs (workspace, digest, bytes)
  select :workspace::text, i.digest, b.bytes
  from i join steadhold.blobs b
    on b.workspace = :workspace::text and b.digest = any(:upload::bytea[]) and b.digest = i.upload and b.chunk = -1
  order by i.digest
  on conflict (workspace, digest, chunk) do nothing
  returning digest
)
select i.n, true from i join made using (digest)

-- name: adopt_rest
-- rank: blobs by digest
-- Only the key changes: bytes that lie apart from their row stay where they are.
update steadhold.blobs b set digest = i.digest, chunk = -1 - b.chunk
from unnest(:digest::bytea[], :upload::bytea[]) as i(digest, upload)
where b.workspace = :workspace::text and b.digest = any(:upload::bytea[]) and b.digest = i.upload and b.chunk < -1

-- name: drop
-- rank: blobs by upload
-- What is left of an upload that was adopted, or never will be.
delete from steadhold.blobs b using unnest(:upload::bytea[]) as i(upload)
where b.workspace = :workspace::text and b.digest = any(:upload::bytea[]) and b.digest = i.upload and b.chunk < 0

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
join steadhold.blobs b
  on b.workspace = :workspace::text and b.digest = any(:digest::bytea[]) and b.digest = i.digest and b.chunk >= 0
order by i.n, b.chunk

-- name: part
-- rank: read by digest
-- Some of the bytes, as far as they lie in one chunk. Bytes of an older version are one chunk, however many they are.
select i.n, substring(b.bytes from (i.first - l.at + 1)::int for (least(i.last, l.at + l.size) - i.first)::int)
from unnest(:digest::bytea[], :first::bigint[], :last::bigint[]) with ordinality as i(digest, first, last, n)
cross join lateral (
  select b.bytes, b.chunk from steadhold.blobs b
  where b.workspace = :workspace::text and b.digest = i.digest
    and b.chunk = any(array[0, (i.first / :chunk_bytes::bigint)::int])
  offset 0
) b
cross join lateral (select b.chunk * :chunk_bytes::bigint as at, octet_length(b.bytes) as size) l
where i.first between l.at and l.at + l.size - 1

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
where b.workspace = :workspace::text and b.chunk = 0 and b.digest = any(array(select digest from named))
for update skip locked

-- name: prune
-- rank: blobs
-- Removes the locked ones that nobody has pinned; a statement of its own, so that it sees every pin that was
-- committed before the lock was held. The others are named again when they lose another pin.
with useless as materialized (
  select d.digest from unnest(:digests::bytea[]) as d(digest)
  where not exists (
    select from steadhold.pins p
    where p.workspace = :workspace::text and p.digest = any(:digests::bytea[]) and p.digest = d.digest)
), pruned as (
  delete from steadhold.blobs b using useless
  where b.workspace = :workspace::text and b.digest = any(:digests::bytea[]) and b.digest = useless.digest
), cleared as (
  delete from steadhold.unpinned u where u.workspace = :workspace::text and u.digest = any(:digests::bytea[])
)
select digest from useless
