-- The way of an event from its row to whoever subscribed to it. See 0005 for the rows themselves.
--
-- `matched_at` of an event: null while nobody has matched it against the subscriptions; `infinity` while a publication of
-- it is under way; else when its window began. So what purges events never meets one that is still to be published.
create index events_unmatched_of on steadhold.events (workspace, aggregate_id, aggregate_revision)
  where matched_at is null;

-- Events of jobs that have been purged while they were still to be published: they leave as any other.
alter table steadhold.events add column orphaned boolean;
create index events_orphaned on steadhold.events (workspace, matched_at) where orphaned;

-- Who wants the workspace's events. No row: nobody, and events are written as matched.
create table steadhold.event_takers (
  workspace text collate "C" not null,
  taker text collate "C" not null,
  primary key (workspace, taker)
);

create table steadhold.subscriptions (
  workspace text collate "C" not null,
  subscription text collate "C" not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  types text[] not null,
  aggregates text[] not null,
  target text collate "C" not null,
  ordered boolean not null,
  deleted boolean not null default false,
  told bigint not null default 0,  -- the revision of its own last event
  announce_at timestamptz,  -- when what is parked is announced (again); null: nothing is
  made_at timestamptz not null,
  changed_at timestamptz not null,
  primary key (workspace, subscription)
) with (fillfactor = 80);
create index subscriptions_to_announce on steadhold.subscriptions (workspace, announce_at)
  where announce_at is not null;

-- One event on its way to one subscription's target. `state`: 0 pending, 1 blocked, 2 parked, 3 published, 4 skipped.
create table steadhold.publications (
  workspace text collate "C" not null,
  aggregate_id text collate "C" not null,
  aggregate_revision bigint not null,
  subscription text collate "C" not null,
  id uuid not null,
  target text collate "C" not null,
  lane smallint not null,
  key text collate "C" not null,  -- what is published in order: the aggregate, or this event alone
  state smallint not null default 0 check (state between 0 and 4),
  attempts int not null default 0,
  next_at timestamptz,
  why text,
  made_at timestamptz not null,
  settled_at timestamptz,
  primary key (workspace, aggregate_id, aggregate_revision, subscription),
  check ((state = 1) = (next_at is not null)),
  check ((state >= 3) = (settled_at is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create unique index publications_by_id on steadhold.publications (workspace, id);
create index publications_open on steadhold.publications
  (workspace, target, lane, key, aggregate_revision, subscription) where state < 3;
create index publications_by_state on steadhold.publications (workspace, state, id) where state < 3;

-- Which changes of state an aggregate of a type may make. A type without a row may make any.
create table steadhold.aggregate_types (
  workspace text collate "C" not null,
  aggregate_type text collate "C" not null,
  revision bigint not null check (revision between 1 and 999999999999999),
  states text[] not null,
  edges_from text[] not null,
  edges_to text[] not null,
  changed_at timestamptz not null,
  primary key (workspace, aggregate_type)
) with (fillfactor = 80);

select steadhold.enclose(t) from unnest(array['steadhold.event_takers', 'steadhold.subscriptions',
  'steadhold.publications', 'steadhold.aggregate_types']::regclass[]) as t;
grant select, insert, delete on steadhold.event_takers to steadhold_app;
grant update (taker) on steadhold.event_takers to steadhold_app;  -- to lock a row
grant select, insert, update on steadhold.subscriptions, steadhold.aggregate_types to steadhold_app;
grant select, insert on steadhold.publications to steadhold_app;
grant update (target, lane, key, state, attempts, next_at, why, settled_at) on steadhold.publications to steadhold_app;
grant update (orphaned) on steadhold.events to steadhold_app;

create function steadhold.event_gate(of_workspace text) returns bigint
  language sql immutable parallel safe
  as $$ select hashtextextended(of_workspace, 4183) $$;

-- Whether an event that is written now has to be matched. Whoever is told no has gone through the gate and is in it until
-- its transaction ends; the first taker of a workspace waits for all who are (`want_events`). So what commits after that
-- taker is there was told yes. The reading comes after the gate, in a snapshot of its own, which only READ COMMITTED gives:
-- under another level the answer is yes, which is always right.
create function steadhold.events_wanted(of_workspace text) returns boolean
  language plpgsql volatile
  as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    return true;
  end if;
  perform pg_advisory_xact_lock_shared(steadhold.event_gate(of_workspace));
  return exists (select from steadhold.event_takers t where t.workspace = of_workspace);
end
$$;

-- Lets a taker be told of what commits from now on. False: events were being written for longer than `patience_ms`.
create function steadhold.want_events(of_workspace text, by_taker text, patience_ms bigint) returns boolean
  language plpgsql volatile
  as $$
declare
  usual text := current_setting('lock_timeout');
begin
  -- Held to commit, so that whoever lets the last one go (`for update`) looks after us.
  perform from steadhold.event_takers t where t.workspace = of_workspace and t.taker = by_taker for key share;
  if found then
    return true;
  end if;
  begin
    perform set_config('lock_timeout', patience_ms::text, true);
    perform pg_advisory_xact_lock(steadhold.event_gate(of_workspace));
    perform set_config('lock_timeout', usual, true);
  exception when lock_not_available then
    return false;
  end;
  insert into steadhold.event_takers (workspace, taker) values (of_workspace, by_taker) on conflict do nothing;
  return true;
end
$$;

-- The keys of a lane whose turn it is, behind `after`: each key's first open publication says whether it is. One step of
-- the index a key, however many publications wait behind a key that is blocked.
create function steadhold.ready_keys(of_workspace text, of_target text, of_lane smallint, after text, most bigint)
  returns setof text language sql stable
  as $$
  with recursive head as (
    (select p.key, p.state, p.next_at from steadhold.publications p
     where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key > after collate "C"
       and p.state < 3
     order by p.key, p.aggregate_revision, p.subscription limit 1)
    union all
    select n.key, n.state, n.next_at from head cross join lateral (
      select p.key, p.state, p.next_at from steadhold.publications p
      where p.workspace = of_workspace and p.target = of_target and p.lane = of_lane and p.key > head.key and p.state < 3
      order by p.key, p.aggregate_revision, p.subscription limit 1) n
  )
  select head.key from head where head.state = 0 or head.next_at <= steadhold.clock() limit most
$$;

-- What is past its window goes through here alone. Its publications have ended (else it would be at infinity), and go too.
create or replace function steadhold.purge_events(of_workspace text, kept_seconds float8, batch bigint) returns bigint
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
  with past as materialized (
    select (select steadhold.clock()) - make_interval(secs => greatest(kept_seconds, 3600)) as at
  ), usual as materialized (
    select e.aggregate_id, e.aggregate_revision from steadhold.events e
    where e.workspace = of_workspace and of_workspace = current_setting('steadhold.workspace', true)
      and e.matched_at < (select at from past) and not starts_with(e.aggregate_id, 'job:')
    order by e.matched_at limit batch for update skip locked
  ), orphans as materialized (
    select e.aggregate_id, e.aggregate_revision from steadhold.events e
    where e.workspace = of_workspace and of_workspace = current_setting('steadhold.workspace', true)
      and e.matched_at < (select at from past) and e.orphaned
    order by e.matched_at limit batch for update skip locked
  ), old as materialized (
    select * from usual union all select * from orphans
  ), told as (
    delete from steadhold.publications p using old
    where p.workspace = of_workspace and p.aggregate_id = any(array(select old.aggregate_id from old))
      and p.aggregate_id = old.aggregate_id
      and p.aggregate_revision = old.aggregate_revision
  ), deleted as (
    delete from steadhold.events e using old
    where e.workspace = of_workspace and e.aggregate_id = any(array(select old.aggregate_id from old))
      and e.aggregate_id = old.aggregate_id
      and e.aggregate_revision = old.aggregate_revision
    returning 1
  )
  select count(*) from deleted
$$;

-- A job's own go with the job; those still to be published stay until they are, and for their window.
create or replace function steadhold.forget_events(of_workspace text, aggregates text[]) returns bigint
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
  with mine as materialized (
    select e.aggregate_id, e.aggregate_revision, e.matched_at < 'infinity' as ended from steadhold.events e
    where e.workspace = of_workspace and of_workspace = current_setting('steadhold.workspace', true)
      and e.aggregate_id = any(aggregates) and starts_with(e.aggregate_id, 'job:')
    order by e.aggregate_id, e.aggregate_revision for update
  ), told as (
    delete from steadhold.publications p using mine
    where p.workspace = of_workspace and p.aggregate_id = any(aggregates) and p.aggregate_id = mine.aggregate_id
      and p.aggregate_revision = mine.aggregate_revision and mine.ended
  ), left_behind as (
    update steadhold.events e set orphaned = true from mine
    where e.workspace = of_workspace and e.aggregate_id = any(aggregates) and e.aggregate_id = mine.aggregate_id
      and e.aggregate_revision = mine.aggregate_revision and mine.ended is not true
  ), deleted as (
    delete from steadhold.events e using mine
    where e.workspace = of_workspace and e.aggregate_id = any(aggregates) and e.aggregate_id = mine.aggregate_id
      and e.aggregate_revision = mine.aggregate_revision and mine.ended
    returning 1
  )
  select count(*) from deleted
$$;

create or replace function steadhold.due_events() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select w.workspace, 'events.waits' from steadhold.workspaces w
  where exists (select from steadhold.waits t
    where t.workspace = w.workspace and t.due_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'events.match' from steadhold.workspaces w
  where exists (select from steadhold.events e where e.workspace = w.workspace and e.matched_at is null)
  union all
  select w.workspace, 'events.publish' from steadhold.workspaces w
  where exists (select from steadhold.publications p where p.workspace = w.workspace and p.state = 0)
    or exists (select from steadhold.publications p
      where p.workspace = w.workspace and p.state = 1 and p.next_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'events.announce' from steadhold.workspaces w
  where exists (select from steadhold.subscriptions s
    where s.workspace = w.workspace and s.announce_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'events.purge' from steadhold.workspaces w
  cross join lateral (select (select steadhold.clock()) - make_interval(secs =>
      coalesce(nullif(current_setting('steadhold.events_seconds', true), ''), '259200')::float8) as at) past
  where exists (select from steadhold.events e
      where e.workspace = w.workspace and not starts_with(e.aggregate_id, 'job:') and e.matched_at < past.at)
    or exists (select from steadhold.events e
      where e.workspace = w.workspace and e.orphaned and e.matched_at < past.at)
$$;

-- For programs in any language, inside their own transaction: what `events.append` is in Python, for one event. Answers the
-- revision that the aggregate has now. The workspace is the session's setting `steadhold.workspace`; whoever may call it is
-- granted that, and the role steadhold_app, by the operator. What is refused raises, with a state of its own: SH412 the
-- revision, SH409 the state, the grant or the id, SH422 an id of the house or what no event can say; and then the transaction is over.
create function steadhold.append_event(
    aggregate_id text, expected_revision bigint, type text, data bytea default null, state text default null,
    from_state text default null, fence_subject text default null, fence bigint default null,
    aggregate_type text default null, owner text default null, event_id text default null, data_ref text default null,
    schema_version int default 1, correlation_id text default null, causation_id text default null)
  returns bigint language plpgsql volatile
  as $$
declare
  here text := nullif(current_setting('steadhold.workspace', true), '');
  of_id text := append_event.aggregate_id;
  mine text := append_event.owner;
  kind text := append_event.aggregate_type;
  is_at bigint;
  before text;
  held record;
  moved bigint;
begin
  if here is null or not exists (select from steadhold.workspaces w where w.workspace = here) then
    raise exception 'name a workspace that is there: set_config(''steadhold.workspace'', …, true)' using errcode = 'SH422';
  end if;
  if exists (select from unnest(array[of_id, append_event.type, append_event.event_id, append_event.state,
      append_event.aggregate_type, append_event.correlation_id, append_event.causation_id]) as said(word)
    where said.word !~ '^[A-Za-z0-9._~:@-]{1,200}$')
  then
    raise exception 'ids, type and states have 1 to 200 letters, digits and . _ ~ : @ -' using errcode = 'SH422';
  end if;
  if append_event.schema_version < 1 or octet_length(append_event.data) > 65536
    or length(append_event.data_ref) not between 1 and 1000
  then
    raise exception 'schema_version is 1 or more, data has at most 65536 bytes, data_ref 1 to 1000 characters'
      using errcode = 'SH422';
  end if;
  if append_event.event_id is null and length(of_id) > 184 then
    raise exception 'an event of an aggregate whose id has more than 184 characters needs an event_id' using errcode = 'SH422';
  end if;
  if of_id ~ '^(job|approval|effect|schedule|inbox|webhook|lock|subscription):' then
    raise exception '% is named as the house names its own', of_id using errcode = 'SH422';
  end if;
  if append_event.event_id ~ '.@[1-9][0-9]{0,14}$' or (append_event.data is not null and append_event.data_ref is not null)
  then
    raise exception 'an event has data or data_ref, and no id that ends in @ and a number' using errcode = 'SH422';
  end if;
  select a.revision, a.state, a.owner, a.aggregate_type into is_at, before, mine, kind
  from steadhold.aggregates a where a.workspace = here and a.aggregate_id = of_id;
  if not found then
    mine := append_event.owner; kind := append_event.aggregate_type;
    if mine <> 'lock:' || of_id and mine !~ '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
      raise exception 'the owner is lock:%, or a job: job:<its id>', of_id using errcode = 'SH422';
    end if;
  end if;
  if mine is not null or append_event.fence_subject is not null then
    select g.subject, g.fence, g.until, g.length_seconds into held from steadhold.grants g
    where g.workspace = here and g.subject = append_event.fence_subject for key share;
    if not found or held.fence is distinct from append_event.fence or (mine is not null and held.subject <> mine)
      or not exists (select from steadhold.house h where h.single and
        steadhold.grant_end(held.until, held.fence, held.length_seconds, h.incarnation, h.began_at) > steadhold.clock())
    then
      raise exception 'the grant of % is not current under this fence', coalesce(mine, append_event.fence_subject)
        using errcode = 'SH409';
    end if;
  end if;
  if append_event.event_id is not null then  -- who comes second waits, and then finds it taken
    perform pg_advisory_xact_lock(hashtextextended(here || '/' || append_event.event_id, 4185));
  end if;
  if append_event.state is not null and is_at is not distinct from append_event.expected_revision and exists (
    select from steadhold.aggregate_types t where t.workspace = here and t.aggregate_type = kind and not (
      append_event.state = any(t.states) and (before is null or before = append_event.state or exists (
        select from unnest(t.edges_from, t.edges_to) as e(f, t) where e.f = before and e.t = append_event.state))))
  then
    raise exception 'no aggregate of type % goes from % to %', kind, coalesce(before, 'its beginning'), append_event.state
      using errcode = 'SH409';
  end if;
  if append_event.expected_revision is null then
    insert into steadhold.aggregates as a (workspace, aggregate_id, aggregate_type, state, owner, revision)
    select here, of_id, kind, append_event.state, mine, (h.incarnation << 32) + 1 from steadhold.house h where h.single
    on conflict do nothing returning a.revision into moved;
  else
    update steadhold.aggregates a set state = coalesce(append_event.state, a.state),
      revision = greatest(a.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
    where a.workspace = here and a.aggregate_id = of_id and a.revision = append_event.expected_revision
      and (append_event.from_state is null or a.state = append_event.from_state) and a.owner is not distinct from mine
    returning a.revision into moved;
  end if;
  if moved is null then
    raise exception '% is not at revision % in state %', of_id, coalesce(append_event.expected_revision::text, 'none'),
      coalesce(append_event.from_state, 'any') using errcode = 'SH412';
  end if;
  insert into steadhold.events (workspace, aggregate_id, aggregate_revision, event_id, schema_version, occurred_at, type,
    data_ref, data, correlation_id, causation_id, matched_at)
  values (here, of_id, moved, append_event.event_id, append_event.schema_version, steadhold.clock(), append_event.type,
    append_event.data_ref, append_event.data, append_event.correlation_id, append_event.causation_id,
    case when not steadhold.events_wanted(here) then steadhold.clock() end);
  return moved;
exception when unique_violation then
  raise exception 'another event has the id %', append_event.event_id using errcode = 'SH409';
end
$$;
revoke all on function steadhold.append_event(text, bigint, text, bytea, text, text, text, bigint, text, text, text, text,
  int, text, text) from public;
