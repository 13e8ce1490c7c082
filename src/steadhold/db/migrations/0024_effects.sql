-- effects: what left the building, its three states, and everything that was ever said of it; journals of charges.
--
-- What was planned never changes: the application may write the columns of the three machines and no other. Nothing is
-- ever deleted, and what was written into a history is never updated.
create table steadhold.effects (
  workspace text collate "C" not null,
  id text collate "C" not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  kind text collate "C" not null,
  target text not null,
  request_digest text collate "C" not null check (request_digest ~ '^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$'),
  repeatable boolean not null,
  amount text collate "C" check (amount ~ '^-?(0|[1-9][0-9]{0,19})([.][0-9]{1,18})?$'),  -- exactly as it was said
  currency text collate "C",
  data_ref text,
  causation_id text collate "C",
  job uuid,
  root uuid,  -- the first job of its line: retries act for the same effects
  planned_by text collate "C" not null,
  planned_at timestamptz not null,
  expires_in_seconds float8 not null check (expires_in_seconds > 0),
  expires_at timestamptz not null,
  execution text collate "C" not null
    check (execution in ('planned', 'initiated', 'abandoned', 'succeeded', 'failed', 'unknown')),
  settlement text collate "C" not null check (settlement in ('none', 'pending', 'settled', 'reversed', 'disputed')),
  reconciliation text collate "C" not null check (reconciliation in ('not_needed', 'needed', 'reconciled')),
  no_effect boolean not null default false,
  initiations int not null default 0,
  initiated_at timestamptz,
  answer_by timestamptz,
  settles_by timestamptz,
  needed_for text collate "C" not null default '',
  needed_since timestamptz,
  announce_at timestamptz,
  venue_ref text,
  evidence_ref text,
  due_at timestamptz,  -- when time alone will do something; null: never
  primary key (workspace, id),
  check ((amount is null) = (currency is null)),
  check ((job is null) = (root is null)),
  check ((execution = 'initiated') = (answer_by is not null)),
  check (not no_effect or execution = 'failed'),
  check ((execution in ('planned', 'abandoned')) = (initiations = 0)),
  check ((reconciliation = 'needed') = (announce_at is not null)),
  check ((reconciliation = 'needed') = (needed_for <> '')),
  check (settles_by is null or settlement in ('pending', 'disputed')),
  check (settles_by is not null or settlement not in ('pending', 'disputed') or reconciliation = 'needed'),
  check (execution <> 'planned' or due_at is not null)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create index effects_newest on steadhold.effects (workspace, planned_at, id);
create index effects_needed on steadhold.effects (workspace, needed_since, id) where reconciliation = 'needed';
create index effects_due on steadhold.effects (workspace, due_at) where due_at is not null;

-- Every move of the three machines, and every fact that was kept beside them: one row for each revision that says one.
create table steadhold.effect_history (
  workspace text collate "C" not null,
  effect text collate "C" not null,
  revision bigint not null,
  machine text collate "C" not null check (machine in ('execution', 'settlement', 'reconciliation', 'evidence')),
  from_state text collate "C",
  to_state text collate "C",
  at timestamptz not null,
  actor text collate "C" not null,
  key_id text collate "C",
  because text collate "C",
  said text collate "C",
  venue_ref text,
  evidence_ref text,
  evidence_id text collate "C",
  primary key (workspace, effect, revision)
);

-- Which facts were taken under an identity of their own, and what was answered to each.
create table steadhold.effect_facts (
  workspace text collate "C" not null,
  effect text collate "C" not null,
  evidence_id text collate "C" not null,
  digest bytea not null,
  answer bytea not null,
  primary key (workspace, effect, evidence_id)
);

-- Charges that are kept here: one row for each, for ever.
create table steadhold.journal_entries (
  workspace text collate "C" not null,
  journal text collate "C" not null,
  id text collate "C" not null,
  amount text collate "C" not null check (amount ~ '^-?(0|[1-9][0-9]{0,19})([.][0-9]{1,18})?$'),
  currency text collate "C" not null,
  effect text collate "C",
  data_ref text,
  causation_id text collate "C",
  note text,
  actor text collate "C" not null,
  key_id text collate "C",
  at timestamptz not null,
  primary key (workspace, journal, id)
);
create index journal_in_order on steadhold.journal_entries (workspace, journal, at, id);

select steadhold.enclose(t) from unnest(array['steadhold.effects', 'steadhold.effect_history',
  'steadhold.effect_facts', 'steadhold.journal_entries']::regclass[]) as t;

grant select, insert on steadhold.effects to steadhold_app;
grant update (revision, execution, settlement, reconciliation, no_effect, initiations, initiated_at, answer_by,
  settles_by, needed_for, needed_since, announce_at, venue_ref, evidence_ref, due_at)
  on steadhold.effects to steadhold_app;
grant select, insert on steadhold.effect_history, steadhold.effect_facts, steadhold.journal_entries to steadhold_app;

create function steadhold.due_effects() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'effects.time' from steadhold.workspaces w
  where exists (select from steadhold.effects e
    where e.workspace = w.workspace and e.due_at <= (select steadhold.clock()))
$$;
revoke all on function steadhold.due_effects() from public;
grant execute on function steadhold.due_effects() to steadhold_app;
