-- name: used
-- rank: read
-- What a workspace may have and has, as far as it is limited: its own writes are counted.
select e.names_max, case when e.names_max is not null then (
    select coalesce(sum(m.amount), 0) from steadhold.meters m
    where m.workspace = :workspace::text and m.what = 'names') end::bigint,
  e.bytes_max, case when e.bytes_max is not null then (
    select coalesce(sum(m.amount), 0) from steadhold.meters m
    where m.workspace = :workspace::text and m.what = 'bytes') end::bigint,
  e.jobs_queued_max, case when e.jobs_queued_max is not null then (
    select count(*) from (
      select from steadhold.jobs j where j.workspace = :workspace::text and j.state = 0
      limit e.jobs_queued_max + :most::bigint
    ) queued) end
from steadhold.entitlements e where e.workspace = :workspace::text
