-- In the rank `jobs` these are asked in the order of this file: admit before finish before hold before keep. A
-- statement of the rank `read` that writes touches only rows that its plan holds already, so it waits for nobody.
-- `id = any(…)` beside a join says to the planner, which may know nothing of the table yet, that a few rows are meant:
-- otherwise it may read all jobs of the workspace. Items are sorted by id so that the two are merged, not compared
-- each with each.

-- part: ready
-- Ready jobs by priority, run_at and id, past those whose limits are reached. The priorities are walked one by
-- one, so that `floor` cuts off the dead entries below it in each. A claim that finds a job locked leaves it.
now as materialized (
  select steadhold.clock() as now
), held as materialized (
  select s.key, count(*) as slots from steadhold.job_slots s where s.workspace = :workspace::text group by s.key
), t as materialized (
  select t.type, l.type_max, coalesce(l.key_max, :key_max::int) as key_max
  from unnest(:types::text[]) as t(type)
  left join steadhold.job_types l
    on l.workspace = :workspace::text and l.type = any(:types::text[]) and l.type = t.type
  left join held h on h.key = 'type:' || t.type
  where l.type_max is null or coalesce(h.slots, 0) < l.type_max
), room as materialized (
  select greatest(0, least(:limit::bigint, (
    select e.jobs_running_max - (
      select count(*) from (
        select from steadhold.jobs j where j.workspace = :workspace::text and j.state = 1 limit e.jobs_running_max
      ) running)
    from steadhold.entitlements e where e.workspace = :workspace::text))) as places
), ready as materialized (
  select ready.*, least(ready.lease_seconds, :lease_seconds::float8, ready.timeout_seconds,
      extract(epoch from ready.deadline_at - (select now.now from now))::float8) as length_seconds,
    ready.fence = 0 and ready.type_max is null and ready.concurrency_key is null as plain
  from t cross join lateral (
    select r.*, t.type_max, t.key_max from generate_series(0, 9) as p(priority) cross join lateral (
      select j.id, j.revision, j.type, j.priority, j.run_at, j.concurrency_key, j.lease_seconds, j.timeout_seconds,
        j.deadline_at, j.fence
      from steadhold.jobs j
      where j.workspace = :workspace::text and j.type = t.type and j.priority = p.priority and j.state = 0
        and j.run_at >= :floor::timestamptz and j.run_at <= (select now.now from now)
        and (j.deadline_at is null or j.deadline_at > (select now.now from now))
        and (j.versions is null or j.versions && :versions::text[])
        and (j.concurrency_key is null or not exists (
          select from held h where h.key = 'key:' || j.concurrency_key
            and h.slots >= case when j.concurrency_key like 'schedule:%' then 1 else t.key_max end))
      order by j.run_at, j.id
      limit (select room.places from room)
      for no key update of j skip locked
    ) r
    limit (select room.places from room)
  ) ready
  order by ready.priority, ready.run_at, ready.id
  limit (select room.places from room)
)

-- name: admission
-- rank: read by type
-- What a type is held to now, whether this workspace may run it, and how full its queue is.
with i as (
  select * from unnest(:type::text[]) with ordinality as i(type, n)
), e as materialized (
  select e.job_types, e.jobs_queued_max, case when e.jobs_queued_max is not null then (
    select count(*) from (
      select from steadhold.jobs j where j.workspace = :workspace::text and j.state = 0 limit e.jobs_queued_max
    ) queued) end as depth
  from steadhold.entitlements e where e.workspace = :workspace::text
)
select i.n, t.revision, c.body, e.job_types is null or i.type = any(e.job_types), e.jobs_queued_max, e.depth
from i
left join e on true
left join steadhold.job_types t on t.workspace = :workspace::text and t.type = any(:type::text[]) and t.type = i.type
left join steadhold.job_configurations c
  on c.workspace = :workspace::text and c.type = any(:type::text[]) and c.type = t.type and c.revision = t.revision

-- name: admit
-- rank: jobs by unique_key
-- An id or a live unique_key that is taken inserts nothing; of one batch the first takes it. An empty unique_key
-- is none. (New ids are nobody else's, so only keys are waited for.)
with i as (
  select * from unnest(
    :id::uuid[], :type::text[], :configuration_revision::bigint[], :priority::int[], :attempts_max::int[],
    :lease_seconds::float8[], :timeout_seconds::float8[], :kept_seconds::float8[], :versions::text[],
    :run_at::timestamptz[], :deadline_seconds::float8[], :evidence_not_before::timestamptz[], :unique_key::text[],
    :concurrency_key::text[], :tags::text[], :correlation_id::text[], :trace::text[], :input_digest::bytea[],
    :input::bytea[], :input_ref::text[], :inputs::bytea[]
  ) with ordinality as i(
    id, type, configuration_revision, priority, attempts_max, lease_seconds, timeout_seconds, kept_seconds, versions,
    run_at, deadline_seconds, evidence_not_before, unique_key, concurrency_key, tags, correlation_id, trace,
    input_digest, input, input_ref, inputs, n)
), base as materialized (
  select (select h.incarnation << 32 from steadhold.house h where h.single) + 1 as revision, steadhold.clock() as now
), made as (
  insert into steadhold.jobs (
    workspace, id, root, type, configuration_revision, revision, priority, attempts_max, lease_seconds,
    timeout_seconds, kept_seconds, versions, run_at, created_at, deadline_at, evidence_not_before, unique_key,
    concurrency_key, tags, correlation_id, trace, input_digest, input, input_ref, inputs)
  select :workspace::text, i.id, i.id, i.type, i.configuration_revision, base.revision, i.priority, i.attempts_max,
    i.lease_seconds, i.timeout_seconds, i.kept_seconds, string_to_array(i.versions, ' '),
    greatest(i.run_at, base.now + i.n * interval '1 microsecond'), base.now,
    base.now + make_interval(secs => i.deadline_seconds), i.evidence_not_before, nullif(i.unique_key, ''),
    i.concurrency_key, i.tags, i.correlation_id, i.trace, i.input_digest, i.input, i.input_ref, i.inputs
  from i cross join base
  order by i.n
  on conflict do nothing
  returning id, revision, run_at
)
select i.n, made.revision, made.run_at from made join i on i.id = made.id

-- name: present
-- rank: read by id
-- The job that stands in the way: of this id, or alive under this key.
with i as (
  select * from unnest(:id::uuid[], :unique_key::text[]) with ordinality as i(id, unique_key, n)
)
select i.n, found.id::text, found.revision, found.state, found.type, found.input_digest
from i cross join lateral (
  (select j.id, j.revision, j.state, j.type, j.input_digest from steadhold.jobs j
   where j.workspace = :workspace::text and j.id = i.id)
  union all
  (select j.id, j.revision, j.state, j.type, j.input_digest from steadhold.jobs j
   where j.workspace = :workspace::text and j.unique_key = i.unique_key and j.state < 3)
  limit 1
) found

-- name: tag
-- rank: read by id
insert into steadhold.job_tags (workspace, tag, id)
select :workspace::text, i.tag, i.id from unnest(:id::uuid[], :tag::text[]) as i(id, tag)
on conflict do nothing

-- name: complete
-- rank: grants by id
-- The hot settlement in one statement, for a plan that asks nothing else: owners say that their jobs are complete, with
-- a bare result. Grants are locked in the order of their subjects, which is that of the ids, then jobs in that order;
-- fence and clock are tested in between. What has no answer is as it was: `own` and `finish` look at it.
with i as materialized (
  select distinct on (id) *, 'job:' || id::text as subject
  from unnest(:id::uuid[], :fence::bigint[], :said::bytea[], :result::bytea[])
    with ordinality as i(id, fence, said, result, n)
  order by id, n
), house as materialized (
  select (select h.incarnation from steadhold.house h where h.single) as incarnation,
    (select h.began_at from steadhold.house h where h.single) as began_at
), locked as materialized (
  select g.subject, g.fence, g.until, g.length_seconds from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(array(select i.subject from i))
  order by g.subject for update
), owned as materialized (
  select i.* from i join locked l on l.subject = i.subject and l.fence = i.fence
  where steadhold.grant_end(l.until, l.fence, l.length_seconds,
    (select house.incarnation from house), (select house.began_at from house)) > steadhold.clock()
  order by i.id
), done as (
  update steadhold.jobs j set
    state = 3, revision = greatest(j.revision, (select house.incarnation << 32 from house)) + 1,
    ended_at = steadhold.clock(), forget_at = steadhold.clock() + make_interval(secs => j.kept_seconds),
    settled_fence = i.fence, settled_state = 3, settled_digest = i.said, result = i.result
  from owned i
  where j.workspace = :workspace::text and j.id = any(array(select owned.id from owned)) and j.id = i.id
    and j.state + 0 = 1 and j.fence = i.fence and j.evidence_not_before is null and not j.slotted and not j.awaited
  returning i.n, i.subject, j.revision, j.attempt, j.fence
), recorded as (
  insert into steadhold.events (
    workspace, aggregate_id, aggregate_revision, schema_version, occurred_at, type, data, matched_at)
  select :workspace::text, d.subject, d.revision, 1, steadhold.clock(), 'job.completed',
    convert_to('{"cause":"complete","attempt":' || d.attempt || ',"fence":' || d.fence || '}', 'UTF8'),
    case when not (select steadhold.events_wanted(:workspace::text)) then steadhold.clock() end
  from done d
), dropped as (
  delete from steadhold.grants g
  where g.workspace = :workspace::text and g.subject = any(array(select done.subject from done))
)
select d.n, d.revision from done d

-- name: finish
-- rank: jobs by id
-- The hot move, held and made in one statement: owners say that their jobs are complete. All are locked first, in
-- their order, those too of which nothing is `said` here. What has no answer is held and looked at (`hold`, `move`).
with i as materialized (
  select distinct on (id) * from unnest(
    :id::uuid[], :expected::bigint[], :fence::bigint[], :said::bytea[], :result::bytea[], :result_ref::text[],
    :coverage::bytea[], :evidence_at::timestamptz[]
  ) with ordinality as i(id, expected, fence, said, result, result_ref, coverage, evidence_at, n)
  order by id, n
), held as materialized (
  select j.id from steadhold.jobs j where j.workspace = :workspace::text and j.id = any(:id::uuid[]) order by j.id
  for no key update
)
update steadhold.jobs j set
  state = 3,
  revision = greatest(j.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  ended_at = steadhold.clock(),
  forget_at = steadhold.clock() + make_interval(secs => j.kept_seconds),
  settled_fence = i.fence, settled_state = 3, settled_digest = i.said,
  result = i.result, result_ref = i.result_ref, coverage = i.coverage, evidence_at = i.evidence_at
from i
where (select count(*) from held) > 0
  and j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id
  and i.said is not null and j.state + 0 = 1 and j.fence = i.fence and j.revision = coalesce(i.expected, j.revision)
  and (j.evidence_not_before is null or j.evidence_not_before <= i.evidence_at)
returning i.n, j.revision, j.attempt, j.slotted, j.awaited

-- name: hold
-- rank: jobs by id
-- The one way to lock jobs by their ids, so that all who do take them in one order.
with i as (
  select * from unnest(:id::uuid[]) with ordinality as i(id, n)
), held as materialized (
  select j.id, j.state, j.revision, j.fence, j.attempt, j.attempts_max, j.lapses, j.stages, j.slotted, j.root,
    j.type, j.configuration_revision, j.cancel_requested_at, j.deadline_at, j.timeout_at, j.evidence_not_before
  from steadhold.jobs j
  where j.workspace = :workspace::text and j.id = any(:id::uuid[])
  order by j.id for no key update
)
select i.n, held.id::text, held.state, held.revision, held.fence, held.attempt, held.attempts_max, held.lapses,
  held.stages, held.slotted, held.root::text, held.type, held.configuration_revision,
  held.cancel_requested_at is not null, held.deadline_at, held.timeout_at, held.evidence_not_before,
  case when coalesce(held.deadline_at, held.timeout_at) is not null then steadhold.clock() end
from i join held on held.id = i.id

-- name: move
-- rank: read by id
-- Every move of a held job. Who finds another revision than it held was overtaken by a twin, and looks again. `said`
-- is null where no worker said anything: then what the last one said stays.
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::uuid[], :held::bigint[], :state::int[], :after_seconds::float8[], :refund::boolean[], :lapses::int[],
    :stages::int[], :error_code::text[], :message::text[], :class::text[], :awaits::bytea[], :fence::bigint[],
    :said::bytea[], :result::bytea[], :result_ref::text[], :coverage::bytea[], :evidence_at::timestamptz[]
  ) with ordinality as i(
    id, held, state, after_seconds, refund, lapses, stages, error_code, message, class, awaits, fence, said,
    result, result_ref, coverage, evidence_at, n)
  order by i.id, i.n
)
update steadhold.jobs j set
  state = i.state,
  revision = greatest(j.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
  attempt = j.attempt - i.refund::int,
  lapses = i.lapses,
  stages = j.stages + i.stages,
  run_at = case when i.state = 0 then steadhold.clock() + make_interval(secs => i.after_seconds) else j.run_at end,
  ended_at = case when i.state >= 3 then steadhold.clock() end,
  forget_at = case when i.state >= 3 then steadhold.clock() + make_interval(secs => j.kept_seconds) end,
  timeout_at = null, slotted = false,
  awaits = i.awaits,
  error_code = coalesce(i.error_code, j.error_code),
  error_message = case when i.error_code is null then j.error_message else i.message end,
  error_class = case when i.error_code is null then j.error_class else i.class end,
  settled_fence = coalesce(i.fence, j.settled_fence),
  settled_state = case when i.fence is null then j.settled_state else i.state end,
  settled_digest = case when i.fence is null then j.settled_digest else i.said end,
  result = i.result, result_ref = i.result_ref, coverage = i.coverage, evidence_at = i.evidence_at
from i
where j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id and j.revision = i.held
returning i.n, j.revision, j.awaited, j.run_at

-- name: await_end
-- rank: read by id
-- Somebody is about to wait for the end of a held job. Who finds another revision than it held looks again.
update steadhold.jobs j set awaited = true
from (select * from unnest(:id::uuid[], :held::bigint[]) with ordinality as i(id, held, n) order by i.id) i
where j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id and j.revision = i.held
returning i.n, true

-- name: moment
-- rank: read
-- all workspaces: the clock is everybody's
select steadhold.clock()

-- name: remembered
-- rank: read by id
-- What the last settlement said, for an owner that asks again.
select i.n, j.state, j.revision, j.fence, j.settled_fence, j.settled_state, j.settled_digest, j.run_at
from (select * from unnest(:id::uuid[]) with ordinality as i(id, n) order by i.id) i
join steadhold.jobs j on j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id

-- name: free
-- rank: read by id
delete from steadhold.job_slots s using unnest(:id::uuid[], :fence::bigint[]) with ordinality as i(id, fence, n)
where s.workspace = :workspace::text and s.job = any(:id::uuid[]) and s.job = i.id and s.fence = i.fence
returning i.n, s.key

-- name: policies
-- rank: read by type
-- Pinned configurations, which never change.
select i.n, c.body
from unnest(:type::text[], :revision::bigint[]) with ordinality as i(type, revision, n)
join steadhold.job_configurations c
  on c.workspace = :workspace::text and c.type = any(:type::text[]) and c.type = i.type and c.revision = i.revision

-- name: take
-- rank: jobs
-- Picks ready jobs, and starts at once those that count towards no limit and were never claimed, as most are: they are
-- granted, moved and recorded as `first`, `start` and `record` do. Of the others, which have no `until`, it says what
-- those need.
with {ready}, plain as materialized (
  select r.id, r.revision, 'job:' || r.id::text as subject, greatest(r.length_seconds, 0.001) as length_seconds,
    steadhold.clock() + make_interval(secs => greatest(r.length_seconds, 0.001)) as ends,
    ((select h.incarnation from steadhold.house h where h.single) << 32) + 1 as fence
  from ready r where r.plain order by r.id
), granted as (
  insert into steadhold.grants (workspace, subject, fence, holder, length_seconds, until, check_at)
  select :workspace::text, i.subject, i.fence, :worker::text, i.length_seconds, i.ends, i.ends from plain i
), started as (
  update steadhold.jobs j set
    state = 1, fence = i.fence, attempt = j.attempt + 1, worker = :worker::text, claimed_at = steadhold.clock(),
    revision = greatest(j.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
    leased_seconds = i.length_seconds, slotted = false,
    timeout_at = i.ends + make_interval(secs => j.timeout_seconds - i.length_seconds)
  from plain i
  where j.workspace = :workspace::text and j.id = any(array(select plain.id from plain)) and j.id = i.id
    and j.revision = i.revision
  returning j.id::text as id, i.subject, j.fence, i.length_seconds, i.ends, j.revision, j.root::text as root, j.type,
    j.configuration_revision, j.attempt, j.priority, j.stages, j.input, j.input_ref, j.input_digest, j.inputs,
    j.run_at, j.deadline_at, j.timeout_at, j.evidence_not_before, j.correlation_id, j.trace
), recorded as (
  insert into steadhold.events (
    workspace, aggregate_id, aggregate_revision, schema_version, occurred_at, type, data, matched_at)
  select :workspace::text, s.subject, s.revision, 1, steadhold.clock(), 'job.running',
    convert_to('{"cause":"claim","attempt":' || s.attempt || ',"fence":' || s.fence || ',"worker":"' || :worker::text
      || '"}', 'UTF8'),
    case when not (select steadhold.events_wanted(:workspace::text)) then steadhold.clock() end
  from started s
)
select s.id, s.fence, s.length_seconds, s.ends, s.revision, s.root, s.type, s.configuration_revision, s.attempt,
  s.priority, s.stages,
  case when sum(octet_length(s.input)) over (rows unbounded preceding) <= :inputs_bytes_max::bigint then s.input end,
  s.input_ref, s.input_digest, s.inputs, s.run_at, s.deadline_at, s.timeout_at,
  s.evidence_not_before, s.correlation_id, s.trace, null::text, null::int, null::int
from started s
union all
select r.id::text, r.fence, r.length_seconds, null, r.revision, null, r.type, null, null,
  r.priority, null, null, null, null, null, r.run_at, null, null,
  null, null, null, r.concurrency_key, r.type_max, r.key_max
from ready r where not r.plain
order by 10, 16, 1

-- name: turn
-- rank: jobs by key
-- One claim at a time counts the slots of a key.
with i as (
  select * from unnest(:key::text[]) with ordinality as i(key, n)
)
insert into steadhold.job_slot_turns as t (workspace, key, turned_at)
select :workspace::text, i.key, steadhold.clock() from i order by i.n
on conflict (workspace, key) do update set turned_at = excluded.turned_at
returning (select i.n from i where i.key = t.key)

-- name: slots
-- rank: read by key
-- Asked in the statement after `turn`, so that it sees what the claim before took.
select i.n, (
  select count(*) from steadhold.job_slots s where s.workspace = :workspace::text and s.key = i.key)
from unnest(:key::text[]) with ordinality as i(key, n)

-- name: occupy
-- rank: read by key
insert into steadhold.job_slots (workspace, key, job, fence)
select :workspace::text, i.key, i.id, i.fence
from unnest(:key::text[], :id::uuid[], :fence::bigint[]) as i(key, id, fence)

-- name: start
-- rank: read by id
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::uuid[], :held::bigint[], :fence::bigint[], :worker::text[], :until::timestamptz[],
    :length_seconds::float8[], :slotted::boolean[]
  ) with ordinality as i(id, held, fence, worker, until, length_seconds, slotted, n)
  order by i.id, i.n
), started as (
  update steadhold.jobs j set
    state = 1, fence = i.fence, attempt = j.attempt + 1, worker = i.worker, claimed_at = steadhold.clock(),
    revision = greatest(j.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1,
    leased_seconds = i.length_seconds, slotted = i.slotted,
    timeout_at = i.until + make_interval(secs => j.timeout_seconds - i.length_seconds)
  from i
  where j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id and j.revision = i.held
  returning i.n, j.revision, j.root::text as root, j.type, j.configuration_revision, j.attempt, j.priority, j.stages,
    j.input, j.input_ref, j.input_digest, j.inputs, j.run_at, j.deadline_at, j.timeout_at, j.evidence_not_before,
    j.correlation_id, j.trace
)
select s.n, s.revision, s.root, s.type, s.configuration_revision, s.attempt, s.priority, s.stages,
  case when sum(octet_length(s.input)) over (rows unbounded preceding) <= :inputs_bytes_max::bigint then s.input end,
  s.input_ref, s.input_digest, s.inputs, s.run_at, s.deadline_at, s.timeout_at, s.evidence_not_before,
  s.correlation_id, s.trace
from started s

-- name: inputs
-- rank: read by id
select i.n, j.input from (select * from unnest(:id::uuid[]) with ordinality as i(id, n) order by i.id) i
join steadhold.jobs j on j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id

-- name: claim_once
-- rank: jobs
insert into steadhold.job_claims (workspace, key, jobs, fences, claimed_at)
values (:workspace::text, :key::text, '{}', '{}', steadhold.clock())
on conflict (workspace, key) do nothing
returning true

-- name: claim_took
-- rank: read
update steadhold.job_claims c set jobs = :jobs::uuid[], fences = :fences::bigint[]
where c.workspace = :workspace::text and c.key = :key::text
returning true

-- name: claim_nothing
-- rank: read
-- A claim that found nothing may find something under its key when it asks again.
delete from steadhold.job_claims c where c.workspace = :workspace::text and c.key = :key::text

-- name: claim_holds
-- rank: read
-- What a claim took under its key and has not settled. Whether its grants still run, fences knows.
select j.id::text, j.fence, j.revision, j.root::text, j.type, j.configuration_revision, j.attempt, j.priority,
  j.stages, j.input, j.input_ref, j.input_digest, j.inputs, j.run_at, j.deadline_at, j.timeout_at,
  j.evidence_not_before, j.correlation_id, j.trace
from steadhold.job_claims c
cross join lateral unnest(c.jobs, c.fences) with ordinality as i(id, fence, n)
cross join lateral (
  select j.* from steadhold.jobs j where j.workspace = :workspace::text and j.id = i.id
  offset 0  -- found one by one: a join may read all of them
) j
where c.workspace = :workspace::text and c.key = :key::text and j.fence = i.fence and j.state + 0 = 1
order by i.n

-- name: beat
-- rank: read by id
-- How long a lease may be renewed for: never past the attempt's timeout or the deadline.
select i.n, j.cancel_requested_at is not null,
  greatest(0.001, least(j.leased_seconds,
    extract(epoch from least(j.timeout_at, j.deadline_at) - steadhold.clock())::float8))
from (select * from unnest(:id::uuid[]) with ordinality as i(id, n) order by i.id) i
join steadhold.jobs j on j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id

-- name: progress
-- rank: read by id
update steadhold.jobs j set progress = i.progress
from (
  select distinct on (i.id) i.* from unnest(:id::uuid[], :progress::bytea[]) with ordinality as i(id, progress, n)
  order by i.id, i.n desc
) i
where j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id
returning i.n, true

-- name: keep
-- rank: jobs by root, stage
-- A stage that is there already is left as it is.
with i as (
  select * from unnest(
    :root::uuid[], :stage::text[], :job::uuid[], :fence::bigint[], :digest::bytea[], :input_digest::bytea[],
    :result::bytea[], :result_ref::text[]
  ) with ordinality as i(root, stage, job, fence, digest, input_digest, result, result_ref, n)
), kept as (
  insert into steadhold.checkpoints (
    workspace, root, stage, job, fence, digest, input_digest, result, result_ref, committed_at)
  select :workspace::text, i.root, i.stage, i.job, i.fence, i.digest, i.input_digest, i.result, i.result_ref,
    steadhold.clock()
  from i order by i.root, i.stage, i.n
  on conflict (workspace, root, stage) do nothing
  returning root, stage, committed_at
)
select min(i.n), min(kept.committed_at) from kept join i on i.root = kept.root and i.stage = kept.stage
group by i.root, i.stage

-- name: unkeep
-- rank: read
-- A stage whose owner turned out to be none, in the same transaction that wrote it.
delete from steadhold.checkpoints c
where c.workspace = :workspace::text and c.root = :root::uuid and c.stage = :stage::text

-- name: stage_of
-- rank: read by root, stage
select i.n, c.stage, c.digest, c.input_digest, c.result, c.result_ref, c.fence, c.job::text, c.committed_at
from unnest(:root::uuid[], :stage::text[]) with ordinality as i(root, stage, n)
join steadhold.checkpoints c
  on c.workspace = :workspace::text and c.root = any(:root::uuid[]) and c.root = i.root and c.stage = i.stage

-- name: stages_of
-- rank: read by root
-- The stage index of a claim: names and digests in the order they were committed.
select i.n, c.stage, c.digest
from unnest(:root::uuid[]) with ordinality as i(root, n)
join steadhold.checkpoints c on c.workspace = :workspace::text and c.root = any(:root::uuid[]) and c.root = i.root
order by i.n, c.committed_at, c.stage

-- name: stages_page
-- rank: read
-- Ends with the stage with which the results of all reach `bytes`; each row says how many there would be without that.
select x.stage, x.digest, x.input_digest, x.result, x.result_ref, x.fence, x.job::text, x.committed_at, x.found
from (
  select c.*, count(*) over () as found,
    sum(octet_length(c.result)) over (order by c.stage rows between unbounded preceding and 1 preceding) as before
  from (
    select * from steadhold.checkpoints c
    where c.workspace = :workspace::text and c.root = :root::uuid and c.stage > :after::text
    order by c.stage limit :limit::bigint
  ) c
) x where :bytes::bigint is null or coalesce(x.before, 0) < :bytes::bigint
order by x.stage

-- name: advance
-- rank: read by id
-- The job changed and its state did not: a stage more (`stages` 1), or somebody asked or told it something (0).
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::uuid[], :held::bigint[], :stages::int[]
  ) with ordinality as i(id, held, stages, n)
  order by i.id, i.n
)
update steadhold.jobs j set
  stages = j.stages + i.stages, lapses = case when i.stages > 0 then 0 else j.lapses end,
  revision = greatest(j.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
from i
where j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id and j.revision = i.held
returning i.n, j.revision

-- name: progressed
-- rank: read by id
-- Whether an owner committed a stage under its fence.
select i.n, exists (
  select from steadhold.checkpoints c
  where c.workspace = :workspace::text and c.root = i.root and c.job = i.id and c.fence = i.fence)
from unnest(:id::uuid[], :root::uuid[], :fence::bigint[]) with ordinality as i(id, root, fence, n)

-- name: ask_cancel
-- rank: read by id
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::uuid[], :held::bigint[], :by::text[], :reason::text[]
  ) with ordinality as i(id, held, by, reason, n)
  order by i.id, i.n
)
update steadhold.jobs j set
  cancel_requested_at = steadhold.clock(), cancel_by = i.by, cancel_reason = i.reason,
  revision = greatest(j.revision, (select h.incarnation << 32 from steadhold.house h where h.single)) + 1
from i
where j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id and j.revision = i.held
returning i.n, j.revision

-- name: note_cancel
-- rank: read by id
-- Who asked, on a job that was cancelled at once.
update steadhold.jobs j set cancel_requested_at = steadhold.clock(), cancel_by = i.by, cancel_reason = i.reason
from (
  select * from unnest(:id::uuid[], :by::text[], :reason::text[]) with ordinality as i(id, by, reason, n) order by i.id
) i
where j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id
returning i.n, true

-- name: keep_alive
-- rank: read
-- Key share: only a purge minds it, so nobody waits for this and it waits only for one.
select j.state, j.revision, j.unique_key, j.type
from steadhold.jobs j
where j.workspace = :workspace::text and j.id = :id::uuid
for key share

-- name: readmit
-- rank: jobs
-- A new job with what the old one was given, and the stages of all before it.
insert into steadhold.jobs (
  workspace, id, root, retry_of, type, configuration_revision, revision, priority, attempts_max, lease_seconds,
  timeout_seconds, kept_seconds, versions, run_at, created_at, deadline_at, evidence_not_before, unique_key,
  concurrency_key, tags, correlation_id, trace, input_digest, input, input_ref, inputs, stages)
select j.workspace, :id::uuid, j.root, j.id, j.type, j.configuration_revision,
  (select (h.incarnation << 32) + 1 from steadhold.house h where h.single), j.priority, j.attempts_max, j.lease_seconds,
  j.timeout_seconds, j.kept_seconds, j.versions, steadhold.clock(), steadhold.clock(),
  steadhold.clock() + (j.deadline_at - j.created_at), j.evidence_not_before, j.unique_key, j.concurrency_key,
  j.tags, j.correlation_id, j.trace, j.input_digest, j.input, j.input_ref, j.inputs, (
    select count(*) from steadhold.checkpoints c where c.workspace = :workspace::text and c.root = j.root)
from steadhold.jobs j
where j.workspace = :workspace::text and j.id = :retry_of::uuid
on conflict do nothing
returning revision, root::text, configuration_revision, run_at, tags

-- name: given
-- rank: read
-- What a job was given by reference.
select j.input_ref, j.inputs from steadhold.jobs j where j.workspace = :workspace::text and j.id = :id::uuid

-- name: tell
-- rank: read by job
-- Signals of a held job are numbered as they come; the plan has counted what is kept.
insert into steadhold.job_signals (workspace, job, n, name, data, sent_at)
select :workspace::text, i.job, (
    select coalesce(max(s.n), 0) from steadhold.job_signals s
    where s.workspace = :workspace::text and s.job = i.job
  ) + row_number() over (partition by i.job order by i.n), i.name, i.data, steadhold.clock()
from unnest(:job::uuid[], :name::text[], :data::bytea[]) with ordinality as i(job, name, data, n)

-- name: told
-- rank: read by job
select i.n, (select count(*) from steadhold.job_signals s where s.workspace = :workspace::text and s.job = i.job)
from unnest(:job::uuid[]) with ordinality as i(job, n)

-- name: signalled
-- rank: read by job, name
select i.n, true from unnest(:job::uuid[], :name::text[]) with ordinality as i(job, name, n)
where exists (
  select from steadhold.job_signals s
  where s.workspace = :workspace::text and s.job = any(:job::uuid[]) and s.job = i.job and s.name = i.name)

-- name: hear
-- rank: read by job, name
-- Takes the oldest signal of a name.
with i as (
  select * from unnest(:job::uuid[], :name::text[]) with ordinality as i(job, name, n)
), oldest as (
  select i.n, i.job, (
    select min(s.n) from steadhold.job_signals s
    where s.workspace = :workspace::text and s.job = i.job and s.name = i.name) as which
  from i
)
delete from steadhold.job_signals s using oldest o
where s.workspace = :workspace::text and s.job = any(:job::uuid[]) and s.job = o.job and s.n = o.which
returning o.n, s.data

-- name: ends
-- rank: read by id
-- How a job ended, for whoever waited for it. An end does not change.
select i.n, j.state,
  steadhold.result_ref(j.id, j.state, j.result_ref, j.settled_digest), j.error_code
from (select * from unnest(:id::uuid[]) with ordinality as i(id, n) order by i.id) i
join steadhold.jobs j on j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id

-- name: overdue
-- rank: jobs
select j.id::text from steadhold.jobs j
where j.workspace = :workspace::text and j.state = 0 and j.deadline_at <= (select steadhold.clock())
order by j.deadline_at limit :limit::bigint
for no key update skip locked

-- name: asleep
-- rank: jobs
-- Waiting jobs that nobody else is moving.
select j.id::text from steadhold.jobs j
where j.workspace = :workspace::text and j.id = any(:ids::uuid[])
order by j.id for no key update skip locked

-- name: forgettable
-- rank: jobs
-- Finished jobs past the window of their type.
select j.id::text, j.root::text, j.tags from steadhold.jobs j
where j.workspace = :workspace::text and j.forget_at <= (select steadhold.clock())
order by j.forget_at limit :limit::bigint
for update skip locked

-- name: outlived
-- rank: jobs
-- Finished jobs past the window of the house.
select j.id::text, j.root::text, j.tags from steadhold.jobs j
where j.workspace = :workspace::text and j.forget_at is null and j.ended_at is not null
  and j.ended_at < (select steadhold.clock()) - make_interval(secs => :kept_seconds::float8)
order by j.ended_at limit :limit::bigint
for update skip locked

-- name: postpone
-- rank: read
-- Jobs with an open effect stay, and are looked at again in an hour.
update steadhold.jobs j set forget_at = steadhold.clock() + interval '1 hour'
where j.workspace = :workspace::text and j.id = any(:ids::uuid[])
returning true

-- name: forget
-- rank: read
-- Stages go with the last job of their root.
with gone as (
  delete from steadhold.jobs j where j.workspace = :workspace::text and j.id = any(:ids::uuid[]) returning j.id, j.root
), tags as (
  delete from steadhold.job_tags t using gone
  where t.workspace = :workspace::text and t.id = gone.id and t.tag = any(:tags::text[])
), signals as (
  delete from steadhold.job_signals s using gone
  where s.workspace = :workspace::text and s.job = any(:ids::uuid[]) and s.job = gone.id
), slots as (
  delete from steadhold.job_slots s using gone
  where s.workspace = :workspace::text and s.job = any(:ids::uuid[]) and s.job = gone.id
)
select gone.id::text from gone

-- name: forget_stages
-- rank: read
delete from steadhold.checkpoints c
where c.workspace = :workspace::text and c.root = any(:roots::uuid[]) and not exists (
  select from steadhold.jobs j where j.workspace = :workspace::text and j.id = any(:roots::uuid[]) and j.id = c.root
) and not exists (
  select from steadhold.jobs j
  where j.workspace = :workspace::text and j.root = any(:roots::uuid[]) and j.root = c.root and j.retry_of is not null
)
returning c.root::text

-- name: forget_rest
-- rank: read
-- Old claims, and turns that nobody has taken for a day.
with claims as (
  delete from steadhold.job_claims c where c.workspace = :workspace::text and (c.workspace, c.key) in (
    select o.workspace, o.key from steadhold.job_claims o
    where o.workspace = :workspace::text and o.claimed_at < (select steadhold.clock()) - make_interval(secs => :claim_seconds::float8)
    limit :limit::bigint for update skip locked)
  returning true
), turns as (
  delete from steadhold.job_slot_turns t where t.workspace = :workspace::text and (t.workspace, t.key) in (
    select o.workspace, o.key from steadhold.job_slot_turns o
    where o.workspace = :workspace::text and o.turned_at < (select steadhold.clock()) - interval '1 day'
    limit :limit::bigint for update skip locked)
)
select count(*) from claims

-- name: superseded
-- rank: jobs
-- Revisions of configurations that were replaced a day ago or more: whoever read one as current has long admitted
-- the job that it was for.
select c.type, c.revision from steadhold.job_configurations c
where c.workspace = :workspace::text and c.look_at <= (select steadhold.clock())
order by c.look_at limit :limit::bigint
for update skip locked

-- name: unpin
-- rank: read
-- Removes those that no job is held to. The others are looked at again in a day, since that reads all jobs.
with i as (
  select * from unnest(:types::text[], :revisions::bigint[]) as i(type, revision)
), pinned as materialized (
  select distinct j.type, j.configuration_revision as revision from steadhold.jobs j
  where j.workspace = :workspace::text and (j.type, j.configuration_revision) in (select i.type, i.revision from i)
), later as (
  update steadhold.job_configurations c set look_at = steadhold.clock() + interval '1 day'
  from pinned p where c.workspace = :workspace::text and c.type = p.type and c.revision = p.revision
)
delete from steadhold.job_configurations c using i
where c.workspace = :workspace::text and c.type = i.type and c.revision = i.revision
  and not exists (select from pinned p where p.type = c.type and p.revision = c.revision)
returning true

-- name: type_of
-- rank: read
select t.type, t.revision, c.body, t.changed_at
from steadhold.job_types t
join steadhold.job_configurations c
  on c.workspace = t.workspace and c.type = t.type and c.revision = t.revision
where t.workspace = :workspace::text and t.type = :type::text

-- name: types_page
-- rank: read
select t.type, t.revision, c.body, t.changed_at
from steadhold.job_types t
join steadhold.job_configurations c
  on c.workspace = t.workspace and c.type = t.type and c.revision = t.revision
where t.workspace = :workspace::text and t.type > :after::text
order by t.type limit :limit::bigint

-- name: configure
-- rank: jobs
-- One writer wins per expected revision; null creates.
with base as (
  select h.incarnation << 32 as revision from steadhold.house h where h.single
), changed as (
  update steadhold.job_types t set
    revision = greatest(t.revision, (select base.revision from base)) + 1,
    type_max = :type_max::int, key_max = :key_max::int, changed_at = steadhold.clock()
  where t.workspace = :workspace::text and t.type = :type::text and t.revision = :expected::bigint
  returning t.revision
), made as (
  insert into steadhold.job_types (workspace, type, revision, type_max, key_max, changed_at)
  select :workspace::text, :type::text, base.revision + 1, :type_max::int, :key_max::int, steadhold.clock()
  from base where :expected::bigint is null
  on conflict do nothing
  returning revision
), now as (
  select revision from changed union all select revision from made
), replaced as (
  update steadhold.job_configurations c set look_at = steadhold.clock() + interval '1 day'
  from changed where c.workspace = :workspace::text and c.type = :type::text and c.revision = :expected::bigint
), kept as (
  insert into steadhold.job_configurations (workspace, type, revision, body, written_at)
  select :workspace::text, :type::text, now.revision, :body::bytea, steadhold.clock() from now
)
select revision from now

-- name: look
-- rank: read by id
select i.n, j.id::text, j.state, j.revision, j.type, j.configuration_revision, j.root::text, j.retry_of::text,
  j.priority, j.fence, j.attempt, j.attempts_max, j.stages, j.worker, j.created_at, j.run_at, j.claimed_at,
  j.timeout_at, j.deadline_at, j.ended_at, j.evidence_not_before, j.evidence_at, j.unique_key, j.concurrency_key, j.tags,
  j.correlation_id, j.trace, j.input_digest, j.input_ref, j.inputs, j.awaits, j.progress,
  steadhold.result_ref(j.id, j.state, j.result_ref, j.settled_digest), j.coverage,
  j.error_code, j.error_message, j.error_class, j.cancel_requested_at, j.cancel_by, j.cancel_reason
from (select * from unnest(:id::uuid[]) with ordinality as i(id, n) order by i.id) i
join steadhold.jobs j on j.workspace = :workspace::text and j.id = any(:id::uuid[]) and j.id = i.id

-- name: effects_of
-- rank: read by of
-- Effects of the line of a job, those that are open first. Their room says in heads where they stand.
select i.n, substr(h.subject, length('effect:') + 1), h.state, h.open
from (select * from unnest(:of::text[]) with ordinality as i(of, n) order by i.of) i
cross join lateral (
  select o.subject, o.state, o.open from steadhold.heads o
  where o.workspace = :workspace::text and o.of = i.of and starts_with(o.subject, 'effect:')
  order by o.open desc, o.subject limit :limit::bigint
) h

-- name: bytes_of
-- rank: read
select j.input, j.result, steadhold.result_ref(j.id, j.state, j.result_ref, j.settled_digest),
  j.input_digest from steadhold.jobs j
where j.workspace = :workspace::text and j.id = :id::uuid

-- name: page
-- rank: read
-- planned anew: which index serves depends on what is asked for, as that of the states that few jobs of many are in
-- Newest first.
select j.id::text, j.state, j.revision, j.type, j.configuration_revision, j.root::text, j.retry_of::text, j.priority,
  j.fence, j.attempt, j.attempts_max, j.stages, j.worker, j.created_at, j.run_at, j.claimed_at, j.timeout_at,
  j.deadline_at, j.ended_at, j.evidence_not_before, j.evidence_at, j.unique_key, j.concurrency_key, j.tags,
  j.correlation_id, j.trace, j.input_digest, j.input_ref, j.inputs, j.awaits, j.progress,
  steadhold.result_ref(j.id, j.state, j.result_ref, j.settled_digest), j.coverage,
  j.error_code, j.error_message, j.error_class, j.cancel_requested_at, j.cancel_by, j.cancel_reason
from steadhold.jobs j
where j.workspace = :workspace::text and j.id < :before::uuid
  and (:state::int is null or j.state = :state::int)
  and (:type::text is null or j.type = :type::text)
  and (:unique_key::text is null or j.unique_key = :unique_key::text)
  and (:tag::text is null or j.id in (
    select t.id from steadhold.job_tags t where t.workspace = :workspace::text and t.tag = :tag::text))
  and (:created_after::timestamptz is null or j.created_at >= :created_after::timestamptz)
  and (:created_before::timestamptz is null or j.created_at < :created_before::timestamptz)
order by j.id desc limit :limit::bigint

-- name: matching
-- rank: read
-- planned anew: as `page`
-- The jobs that a filter means, at most one more than a bulk verb takes.
select j.id::text from steadhold.jobs j
where j.workspace = :workspace::text
  and j.state = any(:states::int[])
  and (:type::text is null or j.type = :type::text)
  and (:unique_key::text is null or j.unique_key = :unique_key::text)
  and (:tag::text is null or j.id in (
    select t.id from steadhold.job_tags t where t.workspace = :workspace::text and t.tag = :tag::text))
  and (:created_after::timestamptz is null or j.created_at >= :created_after::timestamptz)
  and (:created_before::timestamptz is null or j.created_at < :created_before::timestamptz)
order by j.id limit :limit::bigint

-- name: ahead
-- rank: read by inbox, after
-- What an inbox has behind positions, and where it stands; at most `most` events of each, and none of another epoch.
with i as (
  select * from unnest(:inbox::text[], :epoch::text[], :after::bigint[], :most::bigint[])
    with ordinality as i(inbox, epoch, after, most, n)
)
select i.n, b.epoch, b.first_sequence, b.last_sequence, e.sequence, e.event_id, e.head
from i join steadhold.inboxes_now b
  on b.workspace = :workspace::text and b.name = any(:inbox::text[]) and b.name = i.inbox and b.present
left join lateral (
  select e.sequence, e.event_id, e.head from steadhold.inbox_events e
  where e.workspace = :workspace::text and e.inbox = b.id and e.sequence > greatest(i.after, b.first_sequence - 1)
    and b.epoch = i.epoch
  order by e.sequence limit i.most
) e on true
order by i.n, e.sequence

-- name: attend
-- rank: read by job_id
-- Waits that this plan registered are for an inbox.
update steadhold.waits w set inbox = i.inbox, epoch = i.epoch, seen = i.seen
from (
  select * from unnest(:job_id::uuid[], :inbox::text[], :epoch::text[], :seen::bigint[])
    with ordinality as i(job_id, inbox, epoch, seen, n) order by i.job_id
) i
where w.workspace = :workspace::text and w.job_id = any(:job_id::uuid[]) and w.job_id = i.job_id

-- name: watch
-- rank: heads by inbox
-- Somebody waits for inboxes, and has looked at them up to here. Held to commit: who finds that nobody waits any more
-- finds this wait first.
with i as (
  select * from unnest(:inbox::text[], :epoch::text[], :seen::bigint[]) with ordinality as i(inbox, epoch, seen, n)
)
insert into steadhold.inbox_watches as x (workspace, inbox, epoch, seen)
select :workspace::text, i.inbox, min(i.epoch), case when min(i.epoch) = max(i.epoch) then min(i.seen) else -1 end
from i group by i.inbox order by i.inbox
on conflict (workspace, inbox) do update set
  seen = case when x.epoch = excluded.epoch then least(x.seen, excluded.seen) else -1 end

-- name: news
-- rank: read
-- Inboxes that somebody waits for and that have more than was looked at, or are gone, or begin anew; and those of which
-- it is time to look whether anybody waits. Each is looked at by its key: see migration 0020.
select x.inbox from steadhold.inbox_watches x
left join lateral (
  select b.epoch, b.last_sequence from steadhold.inboxes_now b
  where b.workspace = :workspace::text and b.name = x.inbox and b.present offset 0) b on true
where x.workspace = :workspace::text and (b.epoch is distinct from x.epoch or b.last_sequence > x.seen
  or x.check_at <= (select steadhold.clock()))
order by x.inbox limit :limit::bigint

-- name: watchers
-- rank: read
-- Jobs that wait for these inboxes and have not looked at all that there is.
select w.job_id::text from steadhold.waits w
left join steadhold.inboxes_now b
  on b.workspace = :workspace::text and b.name = any(:inboxes::text[]) and b.name = w.inbox and b.present
where w.workspace = :workspace::text and w.inbox = any(:inboxes::text[])
  and (b.name is null or b.epoch <> w.epoch or b.last_sequence > w.seen)
order by w.job_id limit :limit::bigint

-- name: watching
-- rank: heads
-- The waits of held jobs that are for an inbox.
select w.job_id::text, w.what, w.seen from steadhold.waits w
where w.workspace = :workspace::text and w.job_id = any(:ids::uuid[]) and w.inbox is not null
order by w.job_id for update

-- name: saw
-- rank: read by job_id
-- What was found for held waits: they have looked further, or are over.
update steadhold.waits w set seen = i.seen, happened = i.over, due_at = case when i.over then steadhold.clock() else w.due_at end
from (
  select * from unnest(:job_id::uuid[], :seen::bigint[], :over::bool[]) with ordinality as i(job_id, seen, over, n)
  order by i.job_id
) i
where w.workspace = :workspace::text and w.job_id = any(:job_id::uuid[]) and w.job_id = i.job_id

-- name: hold_watches
-- rank: heads
-- Those that somebody else is about to change are left to that.
select x.inbox from steadhold.inbox_watches x
where x.workspace = :workspace::text and x.inbox = any(:inboxes::text[]) order by x.inbox for update skip locked

-- name: rest
-- rank: read
-- Up to where all have looked now who wait for inboxes whose watches are held; without anybody the watch is over.
with left_over as materialized (
  select w.inbox, min(w.seen) as seen, min(w.epoch) as epoch, max(w.epoch) as other from steadhold.waits w
  where w.workspace = :workspace::text and w.inbox = any(:inboxes::text[]) group by w.inbox
), over as (
  delete from steadhold.inbox_watches x
  where x.workspace = :workspace::text and x.inbox = any(:inboxes::text[])
    and x.inbox not in (select l.inbox from left_over l)
)
update steadhold.inbox_watches x
set epoch = l.epoch, seen = case when l.epoch = l.other then l.seen else -1 end,
  check_at = steadhold.clock() + interval '15 minutes'
from left_over l
where x.workspace = :workspace::text and x.inbox = any(:inboxes::text[]) and x.inbox = l.inbox

-- name: glance_queues
-- rank: read
-- planned anew: each step is one of an index, however many jobs there are
-- The types that have accepted jobs: how many can be claimed now, how many later, and for how long the oldest could be.
-- At most `most` of each are counted, of at most `types` types.
with recursive now as materialized (
  select steadhold.clock() as at
), head as (
  (select j.type, j.priority, j.run_at from steadhold.jobs j
   where j.workspace = :workspace::text and j.state = 0 order by j.type, j.priority, j.run_at limit 1)
  union all
  select n.* from head cross join lateral (
    select j.type, j.priority, j.run_at from steadhold.jobs j
    where j.workspace = :workspace::text and j.state = 0 and (j.type, j.priority) > (head.type, head.priority)
    order by j.type, j.priority, j.run_at limit 1) n
), queued as materialized (
  select h.type, min(h.run_at) as run_at from (select * from head limit 10 * :types::bigint) h
  group by h.type order by min(h.run_at) limit :types::bigint
)
select q.type, c.ready, c.later, greatest(extract(epoch from (select at from now) - q.run_at), 0)::float8
from queued q cross join lateral (
  select count(*) filter (where w.run_at <= (select at from now)), count(*) filter (where w.run_at > (select at from now))
  from (
    select j.run_at from steadhold.jobs j
    where j.workspace = :workspace::text and j.state = 0 and j.type = q.type limit :most::bigint) w
) c(ready, later)
order by q.run_at

-- name: glance_active
-- rank: read
-- planned anew: as `glance_queues`
select
  (select count(*) from (select from steadhold.jobs j
    where j.workspace = :workspace::text and j.state = 1 limit :most::bigint) r),
  (select count(*) from (select from steadhold.jobs j
    where j.workspace = :workspace::text and j.state = 2 limit :most::bigint) w)

-- name: glance_ended
-- rank: read
-- planned anew: as `glance_queues`
-- How many jobs ended in each of the last minutes, the oldest first; of each at most `most` are counted.
select c.ended
from (select steadhold.clock() as at offset 0) now
cross join generate_series(:minutes::int - 1, 0, -1) g(ago) cross join lateral (
  select count(*) from (
    select from steadhold.jobs j
    where j.workspace = :workspace::text and j.ended_at is not null and j.forget_at is null
      and j.ended_at > now.at - make_interval(mins => g.ago + 1) and j.ended_at <= now.at - make_interval(mins => g.ago)
    limit :most::bigint) e
) c(ended)
order by g.ago desc

-- name: glance_failed
-- rank: read
-- planned anew: as `glance_queues`
-- How many jobs failed in each of the last spans of five minutes, by class of their failure.
select g.ago, c.class, c.failed
from (select steadhold.clock() as at offset 0) now
cross join generate_series(:spans::int - 1, 0, -1) g(ago) cross join lateral (
  select f.class, count(*) from (
    select coalesce(j.error_class, 'none') as class from steadhold.jobs j
    where j.workspace = :workspace::text and j.state = 4
      and j.ended_at > now.at - make_interval(mins => 5 * (g.ago + 1)) and j.ended_at <= now.at - make_interval(mins => 5 * g.ago)
    limit :most::bigint) f group by f.class
) c(class, failed)
order by g.ago desc, c.class
