-- context: files of bytes with revisions. A narrow row a path; a revision says which bytes it had, which lie in `blobs`.

-- An upload is known by no digest before it is whole: until then its chunks have numbers below zero, under the digest
-- of its own id, and nothing that reads by a digest sees them. Then they only change their key: the bytes stay in place.
alter table steadhold.blobs drop constraint blobs_chunk_check;
grant update (chunk) on steadhold.blobs to steadhold_app;

-- `file` is what stays the same when a path changes; its revisions are its history.
-- `floor`: numbers up to this one belong to what had the path before.
create table steadhold.context_files (
  workspace text collate "C" not null,
  path text collate "C" not null,
  file uuid not null,
  revision bigint not null check (revision >= 0),
  floor bigint not null default 0,
  present boolean not null,  -- false: a tombstone, which keeps the revision
  bytes bigint not null check (bytes >= 0),
  digest bytea not null check (octet_length(digest) in (0, 32)),
  content_type text collate "C" not null,
  changed_at timestamptz not null,
  primary key (workspace, path)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index context_tombstones on steadhold.context_files (workspace, changed_at) where not present;

-- `path` is the one it was written under, which its references name for ever.
create table steadhold.context_revisions (
  workspace text collate "C" not null,
  path text collate "C" not null,
  revision bigint not null,
  file uuid not null,
  bytes bigint not null,
  digest bytea not null,  -- empty: this revision is a deletion
  content_type text collate "C" not null,
  written_at timestamptz not null,
  primary key (workspace, path, revision)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index context_history on steadhold.context_revisions (workspace, file, revision);

-- Who relies on a reference: its bytes stay, also after the revision was pruned.
create table steadhold.context_pins (
  workspace text collate "C" not null,
  path text collate "C" not null,
  revision bigint not null,
  owner text collate "C" not null,
  bytes bigint not null,
  digest bytea not null check (octet_length(digest) = 32),
  content_type text collate "C" not null,
  primary key (workspace, path, revision, owner)
);
create index context_pins_by_owner on steadhold.context_pins (workspace, owner);

-- What is promised to uploads under way, so that together with what is there it is never more than may be.
create table steadhold.context_uploads (
  workspace text collate "C" not null,
  upload text collate "C" not null,
  names bigint not null,
  bytes bigint not null,
  until timestamptz not null,
  primary key (workspace, upload)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
create index context_uploads_by_end on steadhold.context_uploads (workspace, until);

select steadhold.enclose('steadhold.context_files'), steadhold.enclose('steadhold.context_revisions'),
  steadhold.enclose('steadhold.context_pins'), steadhold.enclose('steadhold.context_uploads');
grant select, insert, delete, update (file, revision, floor, present, bytes, digest, content_type, changed_at)
  on steadhold.context_files to steadhold_app;
grant select, insert, delete on steadhold.context_revisions, steadhold.context_pins to steadhold_app;
grant update (path) on steadhold.context_revisions, steadhold.context_pins to steadhold_app;  -- locking a row asks it
grant select, insert, delete, update (names, bytes, until) on steadhold.context_uploads to steadhold_app;

-- The id of a file is made of where it began: no path has had a number twice.
create function steadhold.file_of(path text, revision bigint) returns uuid
  language sql immutable parallel safe
  set search_path = pg_catalog, pg_temp
  as $$ select encode(substring(sha256(convert_to(path || '@' || revision, 'UTF8')) for 16), 'hex')::uuid $$;
revoke all on function steadhold.file_of(text, bigint) from public;
grant execute on function steadhold.file_of(text, bigint) to steadhold_app;

create function steadhold.due_context() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'context.uploads' from steadhold.workspaces w
  where exists (
    select from steadhold.context_uploads u
    where u.workspace = w.workspace and u.until < (select steadhold.clock()))
  union all
  select w.workspace, 'context.tombstones' from steadhold.workspaces w
  where exists (
    select from steadhold.context_files f
    where f.workspace = w.workspace and not f.present
      and f.changed_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.tombstones_seconds', true), ''), '2592000')::float8))
$$;
revoke all on function steadhold.due_context() from public;
grant execute on function steadhold.due_context() to steadhold_app;

-- What a workspace's files use of its entitlements, counted afresh.
create function steadhold.used_context(workspace text) returns table (what text, amount bigint)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select u.what, u.amount from (
    select count(*) as names, coalesce(sum(f.bytes), 0)::bigint as bytes
    from steadhold.context_files f where f.workspace = $1 and f.present
  ) c cross join lateral (values ('names', c.names), ('bytes', c.bytes)) u (what, amount)
$$;
revoke all on function steadhold.used_context(text) from public;
grant execute on function steadhold.used_context(text) to steadhold_app;
