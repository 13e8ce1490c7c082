-- Which trace a change belongs to, so that what comes of it is told as part of that: a traceparent of W3C, or null. A
-- job's is in its own row (`jobs.trace`, which its submitter may also say), and its events are not written with it again.
alter table steadhold.events add column trace text collate "C";
alter table steadhold.webhook_bodies add column trace text collate "C";

-- The trace of a job's event, for whoever passes it on. Invoker's rights: who asks is confined to a workspace.
create function steadhold.trace_of(of_workspace text, of_aggregate text) returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select j.trace from steadhold.jobs j where j.workspace = of_workspace and j.id =
    case when of_aggregate ~ '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substr(of_aggregate, 5)::uuid end
$$;
revoke all on function steadhold.trace_of(text, text) from public;
grant execute on function steadhold.trace_of(text, text) to steadhold_app;
