-- What changes tells of it: subscriptions, keys and entitlements, as other rooms do.

-- The house's own aggregates: only their rooms append to them. `steadhold.events` in Python says the same (events/model.py).
create function steadhold.is_ours(of_id text) returns boolean
  language sql immutable
  set search_path = pg_catalog, pg_temp
  as $$
  select of_id ~ '^(job|approval|effect|schedule|inbox|webhook|lock|subscription|key|entitlements):'
$$;

-- `append_event` as it stands, but for the one question that has an answer of its own now.
do $$
declare
  stood text := pg_catalog.pg_get_functiondef('steadhold.append_event'::regproc);
  says text := replace(stood, 'of_id ~ ''^(job|approval|effect|schedule|inbox|webhook|lock|subscription):''',
    'steadhold.is_ours(of_id)');
begin
  if says = stood then
    raise exception 'append_event asks otherwise whether an id is the house''s';
  end if;
  execute says;
end
$$;

-- What happened to an aggregate of the house, for rooms that stand below events: written as `record` of events writes it.
create function steadhold.tell_event(of_workspace text, of_id text, at_revision bigint, of_type text, of_data bytea)
  returns void
  language sql volatile
  as $$
  insert into steadhold.events (workspace, aggregate_id, aggregate_revision, schema_version, occurred_at, type, data,
    matched_at)
  select of_workspace, of_id, at_revision, 1, steadhold.clock(), of_type, of_data,
    case when not steadhold.events_wanted(of_workspace) then steadhold.clock() end
$$;
revoke all on function steadhold.tell_event(text, text, bigint, text, bytea) from public;
grant execute on function steadhold.tell_event(text, text, bigint, text, bytea) to steadhold_app;

-- As 0022 has it; and effects, consumers, keys and entitlements besides.
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
    union all select c.told from steadhold.inboxes b
      join steadhold.inbox_consumers c on c.workspace = b.workspace and c.inbox = b.id
      where b.workspace = of_workspace and starts_with(of_id, 'inbox:')
        and b.name = split_part(substr(of_id, 7), ':consumer:', 1) and c.name = split_part(of_id, ':consumer:', 2)
    union all select e.revision from steadhold.effects e
      where e.workspace = of_workspace and starts_with(of_id, 'effect:') and e.id = substr(of_id, 8)
    union all select k.revision from steadhold.keys k
      where k.workspace = of_workspace and starts_with(of_id, 'key:') and k.key_id = substr(of_id, 5)
    union all select t.revision from steadhold.entitlements t
      where t.workspace = of_workspace and of_id = 'entitlements:' || t.workspace
  ) found
$$;
