-- approvals: a question about one exact artifact, its one outcome, and a grant that is used once.
--
-- What was asked never changes: the application may write the columns of the two machines and no other. Nothing is ever
-- deleted.
create table steadhold.approvals (
  workspace text collate "C" not null,
  id uuid not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  reference text not null check (reference <> ''),
  version text not null check (version <> ''),
  hash text collate "C" not null check (hash ~ '^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$'),
  length bigint check (length >= 0),
  action text not null,
  title text not null,
  note text,
  requester text collate "C" not null,
  approvers text[] collate "C",  -- subjects; null: whoever has the scope
  approvers_scope text collate "C",
  quorum int not null check (quorum >= 1),
  allow_requester boolean not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  usable_seconds float8 not null check (usable_seconds > 0),
  state text collate "C" not null check (state in ('pending', 'approved', 'rejected', 'expired', 'withdrawn')),
  ended_at timestamptz,
  "grant" text collate "C" check ("grant" in ('unused', 'used', 'revoked', 'lapsed')),
  usable_until timestamptz,
  grant_ended_at timestamptz,
  use_id text collate "C",
  warned boolean not null default false,
  due_at timestamptz,  -- when time alone will move it; null: never
  primary key (workspace, id),
  check ((approvers is null) <> (approvers_scope is null)),
  check ((state = 'pending') = (ended_at is null)),
  check ((state = 'approved') = ("grant" is not null) and (state = 'approved') = (usable_until is not null)),
  check (("grant" in ('used', 'revoked', 'lapsed')) is not distinct from
    case when grant_ended_at is not null then true when "grant" is not null then false end),
  check (coalesce("grant" = 'used', false) = (use_id is not null)),
  check ((state = 'pending' or coalesce("grant" = 'unused', false)) = (due_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create index approvals_by_state on steadhold.approvals (workspace, state, id);
create index approvals_due on steadhold.approvals (workspace, due_at) where due_at is not null;

-- Who did what to an approval, under which key and scopes: written with what it tells of, and never again.
create table steadhold.approval_acts (
  workspace text collate "C" not null,
  approval uuid not null,
  revision bigint not null,
  act text collate "C" not null check (act in ('request', 'approve', 'reject', 'withdraw', 'use', 'revoke')),
  subject text collate "C" not null,
  key_id text collate "C",
  scopes text[] collate "C" not null,
  comment text,
  at timestamptz not null,
  primary key (workspace, approval, revision)
);
create unique index approval_votes on steadhold.approval_acts (workspace, approval, subject)
  where act in ('approve', 'reject');

select steadhold.enclose('steadhold.approvals');
select steadhold.enclose('steadhold.approval_acts');

grant select, insert on steadhold.approvals to steadhold_app;
grant update (revision, state, ended_at, "grant", usable_until, grant_ended_at, use_id, warned, due_at)
  on steadhold.approvals to steadhold_app;
grant select, insert on steadhold.approval_acts to steadhold_app;

create function steadhold.due_approvals() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'approvals.time' from steadhold.workspaces w
  where exists (select from steadhold.approvals a
    where a.workspace = w.workspace and a.due_at <= (select steadhold.clock()))
$$;
revoke all on function steadhold.due_approvals() from public;
grant execute on function steadhold.due_approvals() to steadhold_app;
