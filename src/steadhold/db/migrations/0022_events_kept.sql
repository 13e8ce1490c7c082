-- What subscriptions and references let go, how far back what happened is kept, and how the relay is doing.

-- `ending`: it was deleted while more was on its way to it than is skipped at once. What is left is skipped step by step.
alter table steadhold.subscriptions add column ending boolean not null default false;
create index subscriptions_ending on steadhold.subscriptions (workspace, subscription) where ending;
create index publications_of on steadhold.publications (workspace, subscription) where state < 3;
-- The oldest first: they are listed so, and tell how long what is pending has been so.
drop index steadhold.publications_by_state;
create index publications_by_state on steadhold.publications (workspace, state, made_at, id) where state < 3;

-- Up to when events were removed, jobs' own apart from others'. No row: none was.
create table steadhold.event_horizons (
  workspace text collate "C" not null,
  jobs boolean not null,
  removed_to timestamptz not null,
  primary key (workspace, jobs)
) with (fillfactor = 50);
select steadhold.enclose('steadhold.event_horizons');
grant select on steadhold.event_horizons to steadhold_app;

-- Says that events were removed up to a moment; called by what removes them alone. Null: none was.
create function steadhold.raise_event_horizon(of_workspace text, of_jobs boolean, to_moment timestamptz) returns void
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$
  insert into steadhold.event_horizons as h (workspace, jobs, removed_to)
  select of_workspace, of_jobs, to_moment where to_moment is not null
  on conflict (workspace, jobs) do update set removed_to = excluded.removed_to where h.removed_to < excluded.removed_to
$$;
revoke all on function steadhold.raise_event_horizon(text, boolean, timestamptz) from public;

-- What an event refers to in context is pinned while the event is kept. Context stands above events and comes later, so its
-- tables are named in bodies that are read when they run; what it keeps of a pin is written as it writes it.
-- True: the reference is of what is kept now, or pinned by somebody, and its bytes stay until this transaction ends.
create function steadhold.hold_reference(of_workspace text, reference text) returns boolean
  language plpgsql volatile
  as $$
declare
  said text[] := regexp_match(reference, '^context:([^@#]+)@([1-9][0-9]{0,17})#sha256:([0-9a-f]{64})$');
begin
  if said is null or said[1] ~ '%(?!25|40|23)' then
    return false;
  end if;
  perform from steadhold.blobs b
  where b.workspace = of_workspace and b.digest = decode(said[3], 'hex') and b.chunk = 0 for key share;
  return found and exists (select from steadhold.referred_to(of_workspace, said));
end
$$;
-- What a reference (path, revision, digest) names, with its path as it is.
create function steadhold.referred_to(of_workspace text, said text[])
  returns table (path text, revision bigint, bytes bigint, digest bytea, content_type text)
  language plpgsql stable
  as $$
declare
  named text := replace(replace(replace(said[1], '%40', '@'), '%23', '#'), '%25', '%');
begin
  return query
    select r.path, r.revision, r.bytes, r.digest, r.content_type from steadhold.context_revisions r
    where r.workspace = of_workspace and r.path = named and r.revision = said[2]::bigint
      and r.digest = decode(said[3], 'hex')
    union all
    select p.path, p.revision, p.bytes, p.digest, p.content_type from steadhold.context_pins p
    where p.workspace = of_workspace and p.path = named and p.revision = said[2]::bigint
      and p.digest = decode(said[3], 'hex')
    limit 1;
end
$$;
-- Pins what `hold_reference` holds, for an owner: also where the revision was let go since, whose bytes are held.
create function steadhold.pin_reference(of_workspace text, of_owner text, reference text) returns void
  language plpgsql volatile
  as $$
declare
  said text[] := regexp_match(reference, '^context:([^@#]+)@([1-9][0-9]{0,17})#sha256:([0-9a-f]{64})$');
begin
  insert into steadhold.pins (workspace, owner, digest)
  values (of_workspace, 'reference:' || of_owner, decode(said[3], 'hex'))
  on conflict do nothing;
  insert into steadhold.context_pins (workspace, path, revision, owner, bytes, digest, content_type)
  select of_workspace, replace(replace(replace(said[1], '%40', '@'), '%23', '#'), '%25', '%'), said[2]::bigint, of_owner,
    coalesce(f.bytes, (
      select sum(octet_length(b.bytes)) from steadhold.blobs b
      where b.workspace = of_workspace and b.digest = decode(said[3], 'hex') and b.chunk >= 0)),
    decode(said[3], 'hex'), coalesce(f.content_type, 'application/octet-stream')
  from (select 1) one left join steadhold.referred_to(of_workspace, said) f on true
  on conflict do nothing;
end
$$;
-- Lets go of all that owners pinned; answers how many pins that were.
create function steadhold.unpin_references(of_workspace text, owners text[]) returns bigint
  language plpgsql volatile
  as $$
declare
  gone bigint;
begin
  if owners is null then
    return 0;
  end if;
  delete from steadhold.context_pins p where p.workspace = of_workspace and p.owner = any(owners);
  with unpinned as (
    delete from steadhold.pins p where p.workspace = of_workspace
      and p.owner = any(array(select 'reference:' || o from unnest(owners) o))
    returning p.digest
  ), suspected as (
    insert into steadhold.unpinned as u (workspace, digest)
    select distinct of_workspace, digest from unpinned order by digest
    on conflict (workspace, digest) do update set digest = excluded.digest
  )
  select count(*) into gone from unpinned;
  return gone;
end
$$;
revoke all on function steadhold.hold_reference(text, text), steadhold.referred_to(text, text[]),
  steadhold.pin_reference(text, text, text), steadhold.unpin_references(text, text[]) from public;
grant execute on function steadhold.hold_reference(text, text), steadhold.referred_to(text, text[]),
  steadhold.pin_reference(text, text, text) to steadhold_app;

-- What is past its window goes through here alone. Its publications have ended (else it would be at infinity), and go too;
-- and so do the pins of what it refers to.
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
    returning e.aggregate_id, e.aggregate_revision, e.event_id, e.occurred_at, e.data_ref
  ), unpinned as (
    select steadhold.unpin_references(of_workspace, array_agg('event:' || name order by name)) as pins from (
      select coalesce(d.event_id, d.aggregate_id || '@' || d.aggregate_revision) as name from deleted d
      where starts_with(d.data_ref, 'context:')) referring
  ), raised as (
    select count(steadhold.raise_event_horizon(of_workspace, jobs, upto)) from (
      select starts_with(d.aggregate_id, 'job:') as jobs, max(d.occurred_at) as upto from deleted d group by 1 order by 1) last_of_them
  )
  select count(*) + 0 * ((select * from raised) + (select coalesce(pins, 0) from unpinned)) from deleted
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
    returning e.occurred_at
  ), raised as (
    select count(steadhold.raise_event_horizon(of_workspace, true, upto)) from (select max(occurred_at) as upto from deleted) all_of_them
  )
  select count(*) + 0 * (select * from raised) from deleted
$$;

-- Where an aggregate of the house stands, by its room's own row: its events may all have been removed, which is no reason
-- to say that there were none. Null: nobody knows it. Invoker's rights: who asks is confined to a workspace.
create function steadhold.house_stands(of_workspace text, of_id text) returns bigint
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select max(revision) from (
    select j.revision from steadhold.jobs j where j.workspace = of_workspace and j.id =
      case when of_id ~ '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substr(of_id, 5)::uuid end
    union all select a.revision from steadhold.approvals a where a.workspace = of_workspace and a.id =
      case when of_id ~ '^approval:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substr(of_id, 10)::uuid end
    union all select w.revision from steadhold.webhooks w where w.workspace = of_workspace and w.id =
      case when of_id ~ '^webhook:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substr(of_id, 9)::uuid end
    union all select s.told from steadhold.schedules s
      where s.workspace = of_workspace and starts_with(of_id, 'schedule:') and s.id = substr(of_id, 10)
    union all select s.told from steadhold.subscriptions s
      where s.workspace = of_workspace and starts_with(of_id, 'subscription:') and s.subscription = substr(of_id, 14)
    union all select coalesce(g.revision, 0) from steadhold.grants g
      where g.workspace = of_workspace and starts_with(of_id, 'lock:') and g.subject = of_id
    union all select 0 from steadhold.inboxes b
      where b.workspace = of_workspace and starts_with(of_id, 'inbox:') and b.name = substr(of_id, 7)
  ) found
$$;
revoke all on function steadhold.house_stands(text, text) from public;
grant execute on function steadhold.house_stands(text, text) to steadhold_app;

-- How the relay is doing, over all workspaces: what any server answers alike. Of each workspace at most 100,000 are counted.
create function steadhold.event_flow()
  returns table (unmatched_seconds float8, pending_seconds float8, pending bigint, blocked bigint, parked bigint)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  with flow as materialized (
    select
      (select min(e.occurred_at) from steadhold.events e
        where e.workspace = w.workspace and e.matched_at is null) as unmatched,
      (select min(p.made_at) from steadhold.publications p where p.workspace = w.workspace and p.state = 0) as waiting,
      (select count(*) from (select from steadhold.publications p
        where p.workspace = w.workspace and p.state = 0 limit 100000) counted) as pending,
      (select count(*) from (select from steadhold.publications p
        where p.workspace = w.workspace and p.state = 1 limit 100000) counted) as blocked,
      (select count(*) from (select from steadhold.publications p
        where p.workspace = w.workspace and p.state = 2 limit 100000) counted) as parked
    from steadhold.workspaces w
  )
  select greatest(coalesce(extract(epoch from (select steadhold.clock()) - min(unmatched)), 0), 0)::float8,
    greatest(coalesce(extract(epoch from (select steadhold.clock()) - min(waiting)), 0), 0)::float8,
    coalesce(sum(pending), 0)::bigint, coalesce(sum(blocked), 0)::bigint, coalesce(sum(parked), 0)::bigint
  from flow
$$;
revoke all on function steadhold.event_flow() from public;
grant execute on function steadhold.event_flow() to steadhold_app;

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
  select w.workspace, 'events.end' from steadhold.workspaces w
  where exists (select from steadhold.subscriptions s where s.workspace = w.workspace and s.ending)
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
create or replace function steadhold.append_event(
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
  if of_id is null or append_event.type is null then
    raise exception 'an event has an aggregate_id and a type' using errcode = 'SH422';
  end if;
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
  if starts_with(append_event.data_ref, 'context:') and not steadhold.hold_reference(here, append_event.data_ref) then
    raise exception '% names nothing that is kept', append_event.data_ref using errcode = 'SH422';
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
  if starts_with(append_event.data_ref, 'context:') then
    perform steadhold.pin_reference(here, 'event:' || coalesce(append_event.event_id, of_id || '@' || moved),
      append_event.data_ref);
  end if;
  return moved;
exception when unique_violation then
  raise exception 'another event has the id %', append_event.event_id using errcode = 'SH409';
end
$$;
