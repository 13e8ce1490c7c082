-- Bytes by their digest, and who still needs them.
--
-- `chunk` is 0 for now: a blob is one row. A pin refers to the first chunk, so that the database itself refuses to
-- lose bytes that somebody needs.
create table steadhold.blobs (
  workspace text collate "C" not null,
  digest bytea not null check (octet_length(digest) = 32),
  chunk int not null default 0 check (chunk >= 0),
  bytes bytea not null,
  primary key (workspace, digest, chunk)
);
alter table steadhold.blobs alter column bytes set storage external;  -- users compress what is worth it

create table steadhold.pins (
  workspace text collate "C" not null,
  owner text collate "C" not null,
  digest bytea not null,
  chunk int not null default 0 check (chunk = 0),
  primary key (workspace, owner, digest),
  foreign key (workspace, digest, chunk) references steadhold.blobs
);
create index pins_by_digest on steadhold.pins (workspace, digest);

-- Digests that lost a pin: only these can have become useless, so pruning looks at nothing else.
create table steadhold.unpinned (
  workspace text collate "C" not null,
  digest bytea not null,
  primary key (workspace, digest)
) with (autovacuum_vacuum_scale_factor = 0.02);

select steadhold.enclose('steadhold.blobs'), steadhold.enclose('steadhold.pins'), steadhold.enclose('steadhold.unpinned');
grant select, insert, delete on steadhold.blobs to steadhold_app;
grant update (digest) on steadhold.blobs to steadhold_app;  -- what locking a row asks for; no statement updates one
grant select, insert, delete on steadhold.pins to steadhold_app;
grant select, insert, update, delete on steadhold.unpinned to steadhold_app;

create function steadhold.due_blobs() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'blobs.prune'
  from steadhold.workspaces w
  where exists (select from steadhold.unpinned u where u.workspace = w.workspace)
$$;
revoke all on function steadhold.due_blobs() from public;
grant execute on function steadhold.due_blobs() to steadhold_app;
