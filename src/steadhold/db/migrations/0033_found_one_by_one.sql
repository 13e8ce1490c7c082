-- What is asked by a request or at each tick reads no more than what it names, whatever others keep (see 0031).

-- What a server asks before a request, as 0006 has it, but that the key is looked up where its place says that it is. A
-- join walks the keys of all workspaces, since the id alone is thought to be as good as the id in its workspace.
create or replace function steadhold.find_key(wanted text)
  returns table (
    workspace text, alive boolean, hash bytea, old_hash bytea, ends_in float8, old_ends_in float8,
    unused_seconds float8, requests_per_second_max bigint,
    key_id text, revision bigint, env text, subject text, kind text, scopes text[], state text, made_by text,
    created_at timestamptz, expires_at timestamptz, last_used_at timestamptz, old_secret_until timestamptz)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select found.*
  from steadhold.key_places p
  cross join lateral (
    select t.workspace, t.state = 'active', k.hash, k.old_hash,
      extract(epoch from t.expires_at - steadhold.clock())::float8,
      extract(epoch from t.old_secret_until - steadhold.clock())::float8,
      extract(epoch from steadhold.clock() - t.last_used_at)::float8,
      (select e.requests_per_second_max from steadhold.entitlements e where e.workspace = p.workspace),
      t.key_id, t.revision, t.env, t.subject, t.kind, t.scopes, t.state, t.made_by,
      t.created_at, t.expires_at, t.last_used_at, t.old_secret_until
    from steadhold.keys k cross join steadhold.keys_told t
    where k.workspace = p.workspace and k.key_id = p.key_id and t.workspace = p.workspace and t.key_id = p.key_id
    offset 0) found
  where p.key_id = wanted
$$;

-- As 0019 has it, looked up like a key.
create or replace function steadhold.find_door(wanted bytea)
  returns table (workspace text, door uuid, inbox text, requests_per_second_max bigint)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select found.*
  from steadhold.door_places p
  cross join lateral (
    select d.workspace, d.id, d.inbox_name,
      (select e.requests_per_second_max from steadhold.entitlements e where e.workspace = p.workspace)
    from steadhold.doors d where d.workspace = p.workspace and d.id = p.door
    offset 0) found
  where p.hash = wanted
$$;

-- As 0028 has it, but that a consumer is asked for in its inbox.
create or replace function steadhold.house_stands(of_workspace text, of_id text) returns bigint
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
    union all select c.told from steadhold.inbox_consumers c
      where c.workspace = of_workspace and starts_with(of_id, 'inbox:') and c.name = split_part(of_id, ':consumer:', 2)
        and c.inbox = (select b.id from steadhold.inboxes b
          where b.workspace = of_workspace and b.name = split_part(substr(of_id, 7), ':consumer:', 1))
    union all select e.revision from steadhold.effects e
      where e.workspace = of_workspace and starts_with(of_id, 'effect:') and e.id = substr(of_id, 8)
    union all select k.revision from steadhold.keys k
      where k.workspace = of_workspace and starts_with(of_id, 'key:') and k.key_id = substr(of_id, 5)
    union all select t.revision from steadhold.entitlements t
      where t.workspace = of_workspace and of_id = 'entitlements:' || t.workspace
  ) found
$$;

-- As 0017 and 0031 have it; `offset 0` keeps a question from being made a join, which may read all that is open.
create or replace function steadhold.due_webhooks() returns table (workspace text, duty text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on
  as $$begin return query execute $asked$
  select w.workspace, 'webhooks.attempts' from steadhold.workspaces w
  where exists (select from steadhold.attempts a
    where a.workspace = w.workspace and a.state = 0
      and a.deadline_at <= (select steadhold.clock()) - interval '5 seconds')
  union all
  select w.workspace, 'webhooks.replays' from steadhold.workspaces w
  where exists (select from steadhold.webhook_replays r where r.workspace = w.workspace and r.state = 0)
  union all
  select w.workspace, 'webhooks.blocked' from steadhold.workspaces w
  where exists (select from steadhold.deliveries d
    where d.workspace = w.workspace and d.announce_at <= (select steadhold.clock()))
  union all
  select distinct k.workspace, 'webhooks.skipped' from steadhold.webhooks k
  where not k.enabled and exists (select from steadhold.deliveries d
    where d.workspace = k.workspace and d.webhook = k.id and d.state in (0, 5) and (d.kind < 2 or k.deleted)
      and (
        select a.state = 0 from steadhold.attempts a
        where a.workspace = k.workspace and a.delivery = d.id and a.n = d.attempts) is not true
    offset 0)
  union all
  select w.workspace, 'webhooks.purge' from steadhold.workspaces w
  cross join (select steadhold.clock() - make_interval(secs =>
    coalesce(nullif(current_setting('steadhold.deliveries_seconds', true), ''), '2592000')::float8) as until) past
  where exists (select from steadhold.webhook_bodies b
      where b.workspace = w.workspace and b.made_at < past.until)
    or exists (select from steadhold.webhook_replays r
      where r.workspace = w.workspace and r.ended_at < past.until)
    or exists (select from steadhold.webhooks k
      where k.workspace = w.workspace and k.deleted and k.changed_at < past.until)
$asked$; end$$;

-- As 0012 and 0031 have it, but that whether the job of an old run goes on is asked of that job, not of all that do,
-- and `offset 0` keeps who has other tables of zones from being a join.
create or replace function steadhold.due_schedules() returns table (workspace text, duty text)
  language plpgsql stable security definer
  set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on
  as $$begin return query execute $asked$
  select w.workspace, 'schedules.tick' from steadhold.workspaces w
  where exists (
    select from steadhold.schedules s
    where s.workspace = w.workspace and s.next_at <= (select steadhold.clock()))
  union all
  select w.workspace, 'schedules.retention' from steadhold.workspaces w
  where exists (
    select from steadhold.schedule_runs r
    where r.workspace = w.workspace and r.recorded_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.schedule_runs_seconds', true), ''), '7776000')::float8)
      and r.last_at < (select steadhold.clock()) - make_interval(secs =>
        coalesce(nullif(current_setting('steadhold.schedule_runs_seconds', true), ''), '7776000')::float8)
      and not (r.live and exists (
        select from steadhold.jobs j where j.workspace = r.workspace and j.id = r.job and j.state < 3 offset 0)))
  union all
  select w.workspace, 'schedules.tables' from steadhold.workspaces w
  where exists (
    select from steadhold.schedules s
    where s.workspace = w.workspace and s.next_at is not null
      and s.tables < nullif(current_setting('steadhold.zone_tables', true), '') offset 0)
$asked$; end$$;
