-- What webhooks let go beside what they keep: deliveries whose turn does not come; and what a workspace uses of its endpoints.
create function steadhold.due_webhooks_kept() returns table (workspace text, duty text)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select distinct k.workspace, 'webhooks.late' from steadhold.webhooks k
  cross join (select steadhold.clock() - make_interval(secs =>
    coalesce(nullif(current_setting('steadhold.deliveries_seconds', true), ''), '2592000')::float8) as until) past
  where not k.deleted and exists (select from steadhold.deliveries d
    where d.workspace = k.workspace and d.webhook = k.id and d.next_at < past.until)
$$;
revoke all on function steadhold.due_webhooks_kept() from public;
grant execute on function steadhold.due_webhooks_kept() to steadhold_app;

create function steadhold.used_webhooks(workspace text) returns table (what text, amount bigint)
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select 'endpoints', count(*) from steadhold.webhooks k where k.workspace = $1 and not k.deleted
$$;
revoke all on function steadhold.used_webhooks(text) from public;
grant execute on function steadhold.used_webhooks(text) to steadhold_app;

-- Tests alone go to an endpoint that is disabled or paused: they are found without a walk over all that waits there.
create index deliveries_pings on steadhold.deliveries (workspace, webhook, next_at, id)
  where kind = 2 and next_at is not null;
create or replace function steadhold.due_deliveries() returns table (workspace text, webhook uuid)
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
  select k.workspace, k.id from steadhold.webhooks k
  where not k.deleted and (
    k.enabled and greatest(k.paused_until, k.free_at, '-infinity') <= (select steadhold.clock())
      and exists (select from steadhold.deliveries d
        where d.workspace = k.workspace and d.webhook = k.id and d.next_at <= (select steadhold.clock()))
    or exists (select from steadhold.deliveries d
      where d.workspace = k.workspace and d.webhook = k.id and d.kind = 2 and d.next_at <= (select steadhold.clock())))
$$;
