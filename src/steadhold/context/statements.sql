-- part: settings
select w.revision_floor, w.revisions_kept, h.incarnation << 32 as base
from steadhold.workspaces w cross join steadhold.house h
where w.workspace = :workspace::text and h.single

-- part: used
select e.names_max, e.bytes_max,
  (select coalesce(sum(m.amount), 0) from steadhold.meters m
   where m.workspace = :workspace::text and m.what = 'names')
  + (select coalesce(sum(u.names), 0) from steadhold.context_uploads u
     where u.workspace = :workspace::text and u.upload <> :upload::text) as names,
  (select coalesce(sum(m.amount), 0) from steadhold.meters m
   where m.workspace = :workspace::text and m.what = 'bytes')
  + (select coalesce(sum(u.bytes), 0) from steadhold.context_uploads u
     where u.workspace = :workspace::text and u.upload <> :upload::text) as bytes
from steadhold.entitlements e where e.workspace = :workspace::text

-- part: whole
select string_agg(b.bytes, ''::bytea order by b.chunk) as body from steadhold.blobs b
where b.workspace = :workspace::text and b.digest = r.digest and b.chunk >= 0 and r.bytes <= :whole::bigint

-- part: kept
with kept as (
  select r.bytes, r.content_type from steadhold.context_revisions r
  where r.workspace = :workspace::text and r.path = :path::text and r.revision = :revision::bigint
    and r.digest = :digest::bytea for key share
), pinned as (
  select p.bytes, p.content_type from steadhold.context_pins p
  where p.workspace = :workspace::text and p.path = :path::text and p.revision = :revision::bigint
    and p.digest = :digest::bytea and not exists (select from kept) limit 1 for key share
)
select * from kept union all select * from pinned

-- name: hold_upload
-- rank: names by upload
-- Hold an upload that has its lease: a sweep passes it over, and one that came first leaves nothing here.
with i as (
  select * from unnest(:upload::text[]) with ordinality as i(upload, n)
), held as materialized (
  select u.upload from steadhold.context_uploads u
  where u.workspace = :workspace::text and u.upload = any(:upload::text[]) order by u.upload for update
)
select i.n from i join held using (upload)

-- name: hold
-- rank: names by path
-- Lock paths at what they hold, `alone` or shared with others who only rely on it. First those that are there, then
-- those that are not and that somebody is about to `make`: such a one gets a row of its own, which is written or
-- `let_go` before the commit, also by whoever holds it again meanwhile.
with i as materialized (
  select i.path, bool_or(i.alone) as alone, bool_or(i.make) as make, array_agg(i.n) as ns
  from unnest(:path::text[], :alone::bool[], :make::bool[]) with ordinality as i(path, alone, make, n) group by i.path
), held as materialized (
  select i.path, f.revision, f.present, f.bytes, f.changed_at = '-infinity' as made
  from (select i.path, i.alone from i order by i.path offset 0) i cross join lateral (
    select a.* from (
      select f.revision, f.present, f.bytes, f.changed_at from steadhold.context_files f
      where f.workspace = :workspace::text and f.path = i.path and i.alone for no key update) a
    union all
    select b.* from (
      select f.revision, f.present, f.bytes, f.changed_at from steadhold.context_files f
      where f.workspace = :workspace::text and f.path = i.path and not i.alone for share) b
  ) f
), made as (
  insert into steadhold.context_files
    (workspace, path, file, revision, present, bytes, digest, content_type, changed_at)
  select :workspace::text, i.path, steadhold.file_of(i.path, greatest(s.revision_floor, s.base) + 1),
    greatest(s.revision_floor, s.base), false, 0, '', '', '-infinity'
  from i cross join ({settings}) s
  where i.make and i.path <> all(array(select held.path from held)) and not exists (
    -- purged while we waited for it: the floor above is older than that, so look again
    select from steadhold.context_files f
    where f.workspace = :workspace::text and f.path = any(:path::text[]) and f.path = i.path)
  order by i.path
  on conflict (workspace, path) do nothing
  returning path, revision
), private as materialized (
  select p.path from steadhold.private_names(:workspace::text, 'context', :path::text[]) as p(path)
)
select n.n, case when not held.made then held.revision end, held.present, held.bytes,
  case when held.made then held.revision else made.revision end, e.names_max is not null or e.bytes_max is not null,
  i.path in (select private.path from private), greatest(coalesce(held.revision, made.revision), s.base) + 1
from i cross join lateral unnest(i.ns) as n(n) cross join ({settings}) s
left join held on held.path = i.path
left join made on made.path = i.path
left join steadhold.entitlements e on e.workspace = :workspace::text

-- name: covered
-- rank: names
-- Whether a path lies under a private prefix.
select p.path from steadhold.private_names(:workspace::text, 'context', array[:path::text]) as p(path)

-- name: readable
-- rank: read
-- A page of the files under a prefix, in byte order, with the bytes of those that say they are envelopes and are few.
select r.path, r.content_type, r.digest, r.bytes, whole.body
from (
  select f.path, f.content_type, f.digest, f.bytes from steadhold.context_files f
  where f.workspace = :workspace::text and f.present and f.path > :after::text
    and f.path >= :prefix::text and f.path < :high::text and (f.path = :prefix::text or f.path >= :low::text)
  order by f.path limit :limit::bigint
) r
left join lateral ({whole} offset 0) whole on r.content_type = 'application/jose'
order by r.path

-- name: hold_reference
-- rank: names
-- Hold what keeps the bytes of a reference, the revision or else somebody's pin: whoever would let them go waits.
{kept}

-- name: hold_quota
-- rank: names
-- Whoever would use more of a quota waits here for those before: what they used is seen by the next statement.
select 1 from steadhold.entitlements e where e.workspace = :workspace::text for no key update

-- name: reserve
-- rank: names
-- Promise so much to an upload if it is there, and say of what there is too little.
with used as ({used}
), judged as (
  select case
    when :names::bigint > 0 and used.names + :names::bigint > used.names_max then 'names'
    when :bytes::bigint > 0 and used.bytes + :bytes::bigint > used.bytes_max then 'bytes' end as full_of, used.*
  from (select 1) one left join used on true
), made as (
  insert into steadhold.context_uploads as u (workspace, upload, names, bytes, until)
  select :workspace::text, :upload::text, :names::bigint, :bytes::bigint,
    steadhold.clock() + make_interval(secs => :seconds::float8)
  from judged where full_of is null
  on conflict (workspace, upload) do update  -- whichever of several writers of one path wins, there is room for it
    set names = greatest(u.names, excluded.names), bytes = greatest(u.bytes, excluded.bytes), until = excluded.until
)
select judged.full_of, case judged.full_of when 'names' then judged.names else judged.bytes end::bigint,
  case judged.full_of when 'names' then judged.names_max else judged.bytes_max end
from judged

-- name: renew
-- rank: names by upload
-- More bytes have come, so the lease runs anew.
with held as materialized (
  select u.upload from steadhold.context_uploads u
  where u.workspace = :workspace::text and u.upload = any(:upload::text[]) order by u.upload for no key update
)
update steadhold.context_uploads u set until = steadhold.clock() + make_interval(secs => :seconds::float8)
from unnest(:upload::text[]) with ordinality as i(upload, n) join held using (upload)
where u.workspace = :workspace::text and u.upload = any(:upload::text[]) and u.upload = i.upload
returning i.n

-- name: write
-- rank: names by path
-- Write paths that are held at `revision`; of several items about one path the first. Null `bytes` delete.
-- What is not kept any more leaves in the same breath, and is named, so that its bytes can be let go.
with i as (
  select * from unnest(
    :path::text[], :revision::bigint[], :bytes::bigint[], :digest::bytea[], :content_type::text[]
  ) with ordinality as i(path, revision, bytes, digest, content_type, n)
), winner as (
  select distinct on (i.path) i.* from i order by i.path, i.n
), settings as ({settings}
), moved as (
  update steadhold.context_files f
  set revision = greatest(f.revision, settings.base) + 1, present = w.bytes is not null, bytes = coalesce(w.bytes, 0),
      digest = w.digest, content_type = w.content_type, changed_at = steadhold.clock()
  from winner w cross join settings
  where f.workspace = :workspace::text and f.path = any(:path::text[]) and f.path = w.path and f.revision = w.revision
  returning f.path, f.file, f.revision, f.changed_at
), written as (
  insert into steadhold.context_revisions
    (workspace, path, revision, file, bytes, digest, content_type, written_at)
  select :workspace::text, w.path, moved.revision, moved.file, coalesce(w.bytes, 0), w.digest, w.content_type,
    moved.changed_at
  from moved join winner w on w.path = moved.path
), spent as (  -- the new one is not seen here yet
  delete from steadhold.context_revisions r
  where r.workspace = :workspace::text and r.ctid = any(array(
    select o.ctid from moved cross join lateral (
      select o.ctid from steadhold.context_revisions o
      where o.workspace = :workspace::text and o.file = moved.file
      order by o.revision desc offset (select revisions_kept - 1 from settings)) o))
  returning r.file, r.path, r.revision, r.digest
)
select w.n, moved.revision, moved.changed_at,
  array(select s.path from spent s where s.file = moved.file order by s.path, s.revision),
  array(select s.revision from spent s where s.file = moved.file order by s.path, s.revision),
  array(select s.digest from spent s where s.file = moved.file order by s.path, s.revision)
from moved join winner w on w.path = moved.path

-- name: move
-- rank: names
-- Both paths are held, `target` without a file. The file takes its id and history along, under a number that neither
-- path has had; what was kept of whatever had the target's path goes, and is named.
with settings as ({settings}
), source as (
  select f.* from steadhold.context_files f where f.workspace = :workspace::text and f.path = :source::text
), target as (
  select f.* from steadhold.context_files f where f.workspace = :workspace::text and f.path = :target::text
), left_behind as (
  update steadhold.context_files f
  set file = steadhold.file_of(f.path, greatest(f.revision, settings.base) + 1),
      revision = greatest(f.revision, settings.base) + 1, present = false, bytes = 0,
      digest = '', content_type = '', changed_at = steadhold.clock()
  from settings where f.workspace = :workspace::text and f.path = :source::text
  returning f.path, f.file, f.revision, f.changed_at
), moved as (
  update steadhold.context_files f
  set file = source.file, revision = greatest(source.revision, f.revision, settings.base) + 1,
      floor = greatest(f.revision, settings.revision_floor), present = true, bytes = source.bytes,
      digest = source.digest, content_type = source.content_type, changed_at = steadhold.clock()
  from settings cross join source where f.workspace = :workspace::text and f.path = :target::text
  returning f.path, f.file, f.revision, f.bytes, f.digest, f.content_type, f.changed_at
), written as (
  insert into steadhold.context_revisions
    (workspace, path, revision, file, bytes, digest, content_type, written_at)
  select :workspace::text, l.path, l.revision, l.file, 0, ''::bytea, '', l.changed_at from left_behind l
  union all
  select :workspace::text, m.path, m.revision, m.file, m.bytes, m.digest, m.content_type, m.changed_at from moved m
), spent as (  -- as in `write`
  delete from steadhold.context_revisions r
  where r.workspace = :workspace::text and r.ctid = any(array(
    select o.ctid from target cross join lateral (
      select o.ctid from steadhold.context_revisions o
      where o.workspace = :workspace::text and o.file = target.file offset 0) o
    union all
    select o.ctid from source cross join lateral (
      select o.ctid from steadhold.context_revisions o
      where o.workspace = :workspace::text and o.file = source.file
      order by o.revision desc offset (select revisions_kept - 1 from settings)) o))
  returning r.path, r.revision, r.digest
)
select moved.revision, moved.changed_at, moved.file::text, moved.bytes, moved.digest,
  array(select s.path from spent s order by s.path, s.revision),
  array(select s.revision from spent s order by s.path, s.revision),
  array(select s.digest from spent s order by s.path, s.revision)
from moved

-- name: let_go
-- rank: names by path
-- Remove the rows that this transaction made to hold paths that then got no file.
delete from steadhold.context_files f using unnest(:path::text[]) as i(path)
where f.workspace = :workspace::text and f.path = any(:path::text[]) and f.path = i.path
  and not f.present and f.changed_at = '-infinity'

-- name: free
-- rank: names by upload
-- What was promised to an upload is free again, or has been used.
delete from steadhold.context_uploads u using unnest(:upload::text[]) with ordinality as i(upload, n)
where u.workspace = :workspace::text and u.upload = any(:upload::text[]) and u.upload = i.upload
returning i.n

-- name: lapsed
-- rank: names
-- Uploads whose lease is over, locked; one that more bytes come of at this moment is passed over.
select u.upload from steadhold.context_uploads u
where u.workspace = :workspace::text and u.until < (select steadhold.clock())
order by u.until limit :limit::bigint for update skip locked

-- name: look
-- rank: read by path
-- What each path holds now, a row for each chunk of its bytes where they are few; a tombstone answers with its revision.
select i.n, r.revision, r.present, r.file::text, r.bytes, r.digest, r.content_type, r.changed_at, b.bytes
from unnest(:path::text[]) with ordinality as i(path, n)
join steadhold.context_files r on r.workspace = :workspace::text and r.path = any(:path::text[]) and r.path = i.path
left join lateral (
  select b.chunk, b.bytes from steadhold.blobs b
  where b.workspace = :workspace::text and b.digest = r.digest and b.chunk >= 0 and r.bytes <= :whole::bigint
  offset 0
) b on r.present
order by i.n, b.chunk

-- name: look_at
-- rank: read
-- One kept revision of a path, or of the file that has the path now; what the path is at, the oldest that is kept, and
-- the workspace's floor.
with now as (
  select f.* from steadhold.context_files f where f.workspace = :workspace::text and f.path = :path::text
)
select now.revision, r.revision is not null, r.file::text, r.bytes, r.digest, r.content_type, r.written_at, whole.body,
  (select o.revision from steadhold.context_revisions o
   where o.workspace = :workspace::text and o.file = now.file order by o.revision limit 1),
  (select w.revision_floor from steadhold.workspaces w where w.workspace = :workspace::text)
from (select 1) one left join now on true
left join lateral (
  select r.* from (
    select 0 as place, r.* from steadhold.context_revisions r
    where r.workspace = :workspace::text and r.path = :path::text and r.revision = :revision::bigint
    union all
    select 1, r.* from steadhold.context_revisions r
    where r.workspace = :workspace::text and r.file = now.file and r.revision = :revision::bigint
      and r.revision > now.floor
  ) r order by place limit 1
) r on true
left join lateral ({whole} offset 0) whole on true

-- name: look_for
-- rank: read
-- What a reference names: as it is kept, as somebody's pin keeps it, and whether there may have been such a revision.
select r.digest, coalesce(r.bytes, p.bytes), coalesce(r.content_type, p.content_type), p.digest is not null,
  coalesce(f.revision, w.revision_floor), whole.body
from steadhold.workspaces w
left join steadhold.context_files f on f.workspace = :workspace::text and f.path = :path::text
left join steadhold.context_revisions r
  on r.workspace = :workspace::text and r.path = :path::text and r.revision = :revision::bigint
left join lateral (
  select p.* from steadhold.context_pins p
  where p.workspace = :workspace::text and p.path = :path::text and p.revision = :revision::bigint
    and p.digest = :digest::bytea limit 1
) p on true
left join lateral (
  select string_agg(b.bytes, ''::bytea order by b.chunk) as body from steadhold.blobs b
  where b.workspace = :workspace::text and b.digest = :digest::bytea and b.chunk >= 0
    and coalesce(r.bytes, p.bytes) <= :whole::bigint
  offset 0
) whole on true
where w.workspace = :workspace::text

-- name: rely
-- rank: read by digest, path, revision
-- What references name, as `look_for` tells it. Bytes that are there are locked until the commit by what only a prune
-- minds, which waits for nobody, so this may stand before any rank: whoever found them pins them in time.
with i as materialized (
  select * from unnest(:path::text[], :revision::bigint[], :digest::bytea[])
    with ordinality as i(path, revision, digest, n)
), held as materialized (
  select b.digest from steadhold.blobs b
  where b.workspace = :workspace::text and b.chunk = 0 and b.digest = any(:digest::bytea[])
  order by b.digest for key share
)
select i.n, held.digest is not null and coalesce(r.digest = i.digest, p.digest is not null),
  coalesce(r.bytes, p.bytes), coalesce(r.content_type, p.content_type),
  r.digest is not null and r.digest <> i.digest, coalesce(f.revision, w.revision_floor)
from i join steadhold.workspaces w on w.workspace = :workspace::text
left join held on held.digest = i.digest
left join lateral (
  select f.revision from steadhold.context_files f
  where f.workspace = :workspace::text and f.path = i.path offset 0
) f on true
left join lateral (
  select r.* from steadhold.context_revisions r
  where r.workspace = :workspace::text and r.path = i.path and r.revision = i.revision offset 0
) r on true
left join lateral (
  select p.* from steadhold.context_pins p
  where p.workspace = :workspace::text and p.path = i.path and p.revision = i.revision and p.digest = i.digest limit 1
) p on true

-- name: names
-- rank: read
-- A page of the paths under prefixes, in byte order; see the statement of this name in `state`.
select f.path, f.file::text, f.revision, f.bytes, f.digest, f.content_type, f.changed_at
from steadhold.context_files f
where f.workspace = :workspace::text and f.present
  and f.path > :after::text and f.path >= :first::text and f.path < :last::text
  and exists (
    select from unnest(:exact::text[], :low::text[], :high::text[]) as p(exact, low, high)
    where p.high = '' or f.path = p.exact or (f.path >= p.low and f.path < p.high))
order by f.path limit :limit::bigint

-- name: revisions
-- rank: read
-- A page of what is kept of the file at a path, newest first, each under the path that it was written under.
select r.path, r.revision, r.bytes, r.digest, r.content_type, r.written_at, r.digest = ''
from steadhold.context_revisions r
where r.workspace = :workspace::text and r.revision < :before::bigint and r.file = (
  select f.file from steadhold.context_files f where f.workspace = :workspace::text and f.path = :path::text)
order by r.revision desc limit :limit::bigint

-- name: usage
-- rank: read
-- Counted as a quota counts: what files hold now; what is promised to uploads beside.
select f.files, f.bytes,
  (select count(*) from steadhold.context_revisions r where r.workspace = :workspace::text),
  (select coalesce(sum(u.bytes), 0)::bigint from steadhold.context_uploads u where u.workspace = :workspace::text),
  e.bytes_max, e.names_max
from (
  select count(*) as files, coalesce(sum(f.bytes), 0)::bigint as bytes
  from steadhold.context_files f where f.workspace = :workspace::text and f.present
) f left join steadhold.entitlements e on e.workspace = :workspace::text

-- name: old_tombstones
-- rank: names
-- Lock a batch of tombstones that are past their window, the oldest first.
select f.path, f.revision from steadhold.context_files f
where f.workspace = :workspace::text and not f.present
  and f.changed_at < (select steadhold.clock()) - make_interval(secs => :seconds::float8)
order by f.changed_at limit :limit::bigint
for update skip locked

-- name: raise_floor
-- rank: names
-- Numbers of purged paths are never issued again.
update steadhold.workspaces w set revision_floor = greatest(w.revision_floor, :floor::bigint)
where w.workspace = :workspace::text

-- name: bury
-- rank: names
-- Remove purged paths with what was kept of their files.
with gone as (
  delete from steadhold.context_files f
  where f.workspace = :workspace::text and f.path = any(:paths::text[]) and not f.present
  returning f.file
)
delete from steadhold.context_revisions r
where r.workspace = :workspace::text and r.file = any(array(select gone.file from gone))
returning r.path, r.revision, r.digest

-- name: rely_on
-- rank: blobs
-- As `hold_reference`, for somebody who is about to pin.
{kept}

-- name: pin
-- rank: blobs by path, revision, owner
-- Note who relies on a reference, and hold that: whoever would unpin it waits until its bytes are pinned, too.
insert into steadhold.context_pins as p (workspace, path, revision, owner, bytes, digest, content_type)
select distinct on (path, revision, owner)
  :workspace::text, path, revision, owner, bytes, digest, content_type
from unnest(
  :path::text[], :revision::bigint[], :owner::text[], :bytes::bigint[], :digest::bytea[], :content_type::text[]
) as i(path, revision, owner, bytes, digest, content_type)
order by path, revision, owner
on conflict (workspace, path, revision, owner) do update set path = excluded.path

-- name: unpin_owners
-- rank: blobs
-- Owners that are gone rely on nothing.
delete from steadhold.context_pins p
where p.workspace = :workspace::text and p.owner = any(:owners::text[])
returning p.owner, p.path, p.revision, p.digest

-- name: unpin
-- rank: blobs
delete from steadhold.context_pins p
where p.workspace = :workspace::text and p.owner = :owner::text
  and (:path::text is null or (p.path = :path::text and p.revision = :revision::bigint))
returning p.path, p.revision, p.digest
