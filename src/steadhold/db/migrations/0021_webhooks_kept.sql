-- What webhooks keep and let go: what is late for ever is given up, and what a workspace uses of its endpoints.

create or replace function steadhold.due_webhooks() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
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
        where a.workspace = k.workspace and a.delivery = d.id and a.n = d.attempts) is not true)
  union all
  select distinct k.workspace, 'webhooks.late' from steadhold.webhooks k
  cross join (select steadhold.clock() - make_interval(secs =>
    coalesce(nullif(current_setting('steadhold.deliveries_seconds', true), ''), '2592000')::float8) as until) past
  where not k.deleted and exists (select from steadhold.deliveries d
    where d.workspace = k.workspace and d.webhook = k.id and d.next_at < past.until)
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
$$;

create function steadhold.used_webhooks(workspace text) returns table (what text, amount bigint)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select 'endpoints', count(*) from steadhold.webhooks k where k.workspace = $1 and not k.deleted
$$;
revoke all on function steadhold.used_webhooks(text) from public;
grant execute on function steadhold.used_webhooks(text) to steadhold_app;
