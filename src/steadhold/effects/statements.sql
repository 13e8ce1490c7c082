-- part: effect
-- What is read of an effect `e`.
e.id, e.revision, e.kind, e.target, e.request_digest, e.repeatable, e.amount, e.currency, e.data_ref, e.causation_id,
  e.job::text, e.root::text, e.planned_by, e.planned_at, e.expires_in_seconds, e.expires_at, e.execution, e.settlement,
  e.reconciliation, e.no_effect, e.initiations, e.initiated_at, e.answer_by, e.settles_by, e.needed_for,
  e.needed_since, e.announce_at, e.venue_ref, e.evidence_ref

-- part: moment
-- When it was read, and what its next revision is above.
steadhold.clock(), (select h.incarnation << 32 from steadhold.house h where h.single)

-- name: plan
-- rank: effects by id
-- An effect is written down as it is meant. An id that is there already answers nothing.
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::text[], :kind::text[], :target::text[], :request_digest::text[], :repeatable::bool[], :amount::text[],
    :currency::text[], :data_ref::text[], :causation_id::text[], :job::uuid[], :root::uuid[], :planned_by::text[],
    :expires_in_seconds::float8[]
  ) with ordinality as i(id, kind, target, request_digest, repeatable, amount, currency, data_ref, causation_id, job,
    root, planned_by, expires_in_seconds, n)
  order by i.id, i.n
), moment as materialized (
  select steadhold.clock() as now
), made as (
  insert into steadhold.effects as e (workspace, id, revision, kind, target, request_digest, repeatable, amount,
    currency, data_ref, causation_id, job, root, planned_by, planned_at, expires_in_seconds, expires_at, execution,
    settlement, reconciliation, due_at)
  select :workspace::text, i.id, (select h.incarnation << 32 from steadhold.house h where h.single) + 1, i.kind,
    i.target, i.request_digest, i.repeatable, i.amount, i.currency, i.data_ref, i.causation_id, i.job, i.root,
    i.planned_by, m.now, i.expires_in_seconds, m.now + make_interval(secs => i.expires_in_seconds), 'planned', 'none',
    'not_needed', m.now + make_interval(secs => i.expires_in_seconds)
  from i cross join moment m order by i.id
  on conflict do nothing
  returning e.*
)
select i.n, {effect}, {moment} from i join made e on e.id = i.id

-- name: hold
-- rank: effects by id
-- The one way to lock effects by their ids. The clock is asked once each row is held.
with i as (
  select * from unnest(:id::text[]) with ordinality as i(id, n)
), held as materialized (
  select e.* from steadhold.effects e
  where e.workspace = :workspace::text and e.id = any(:id::text[])
  order by e.id for no key update
)
select i.n, {effect}, {moment} from i join held e on e.id = i.id

-- name: look
-- rank: read by id
select i.n, {effect}, {moment}
from unnest(:id::text[]) with ordinality as i(id, n)
join steadhold.effects e on e.workspace = :workspace::text and e.id = any(:id::text[]) and e.id = i.id

-- name: lines_of_jobs
-- rank: read by job
-- With which job the line of each began: a retry acts for the effects of what it retries. See decision 0028.
select i.n, j.id::text, j.root::text
from unnest(:job::uuid[]) with ordinality as i(job, n)
join steadhold.jobs j on j.workspace = :workspace::text and j.id = any(:job::uuid[]) and j.id = i.job

-- name: move
-- rank: read by id
-- A held effect changes. Who finds another revision than it held was overtaken by a twin, and looks again.
with i as (
  select distinct on (i.id) i.* from unnest(
    :id::text[], :held::bigint[], :revision::bigint[], :execution::text[], :settlement::text[],
    :reconciliation::text[], :no_effect::bool[], :initiations::int[], :initiated_at::timestamptz[],
    :answer_by::timestamptz[], :settles_by::timestamptz[], :needed_for::text[], :needed_since::timestamptz[],
    :announce_at::timestamptz[], :venue_ref::text[], :evidence_ref::text[], :due_at::timestamptz[]
  ) with ordinality as i(id, held, revision, execution, settlement, reconciliation, no_effect, initiations,
    initiated_at, answer_by, settles_by, needed_for, needed_since, announce_at, venue_ref, evidence_ref, due_at, n)
  order by i.id, i.n
)
update steadhold.effects e set
  revision = i.revision, execution = i.execution, settlement = i.settlement, reconciliation = i.reconciliation,
  no_effect = i.no_effect, initiations = i.initiations, initiated_at = i.initiated_at, answer_by = i.answer_by,
  settles_by = i.settles_by, needed_for = i.needed_for, needed_since = i.needed_since, announce_at = i.announce_at,
  venue_ref = i.venue_ref, evidence_ref = i.evidence_ref, due_at = i.due_at
from i
where e.workspace = :workspace::text and e.id = any(:id::text[]) and e.id = i.id and e.revision = i.held
returning i.n, e.revision

-- name: write_down
-- rank: read by effect, revision
-- What a held effect became, by whom, and when.
with i as materialized (
  select * from unnest(:effect::text[], :revision::bigint[], :machine::text[], :from_state::text[], :to_state::text[],
    :at::timestamptz[], :actor::text[], :key_id::text[], :because::text[], :said::text[], :venue_ref::text[],
    :evidence_ref::text[], :evidence_id::text[]
  ) with ordinality as i(effect, revision, machine, from_state, to_state, at, actor, key_id, because, said, venue_ref,
    evidence_ref, evidence_id, n)
), written as (
  insert into steadhold.effect_history (workspace, effect, revision, machine, from_state, to_state, at, actor, key_id,
    because, said, venue_ref, evidence_ref, evidence_id)
  select :workspace::text, i.effect, i.revision, i.machine, i.from_state, i.to_state, i.at, i.actor, i.key_id,
    i.because, i.said, i.venue_ref, i.evidence_ref, i.evidence_id
  from i
)
select i.n from i

-- name: taken
-- rank: read by effect, evidence_id
-- Facts that were taken under these identities, of effects that are held.
select i.n, f.digest, f.answer
from unnest(:effect::text[], :evidence_id::text[]) with ordinality as i(effect, evidence_id, n)
join steadhold.effect_facts f on f.workspace = :workspace::text and f.effect = any(:effect::text[])
  and f.effect = i.effect and f.evidence_id = i.evidence_id

-- name: take
-- rank: read by effect, evidence_id
-- A fact is taken, under an identity that a held effect has not seen.
with i as materialized (
  select * from unnest(:effect::text[], :evidence_id::text[], :digest::bytea[], :answer::bytea[])
    with ordinality as i(effect, evidence_id, digest, answer, n)
), kept as (
  insert into steadhold.effect_facts (workspace, effect, evidence_id, digest, answer)
  select :workspace::text, i.effect, i.evidence_id, i.digest, i.answer from i
)
select i.n from i

-- name: passing
-- rank: effects
-- Effects to which time does something, those that nobody else is moving; as they are once each is held.
with held as materialized (
  select e.* from steadhold.effects e
  where e.workspace = :workspace::text and e.due_at <= (select steadhold.clock())
  order by e.due_at limit :limit::bigint
  for no key update skip locked
)
select {effect}, {moment} from held e

-- name: listing
-- rank: read
-- planned anew: the wanted state decides about the index
-- A page, the newest first.
select {effect}, {moment} from steadhold.effects e
where e.workspace = :workspace::text and (e.planned_at, e.id) < (:before_at::timestamptz, :before::text)
  and (:wanted::text is null or e.reconciliation = :wanted::text)
order by e.planned_at desc, e.id desc limit :limit::bigint

-- name: waiting
-- rank: read
-- A page of those at which somebody has to look, the one that waits longest first.
select {effect}, {moment} from steadhold.effects e
where e.workspace = :workspace::text and e.reconciliation = 'needed'
  and (e.needed_since, e.id) > (:after_at::timestamptz, :after::text)
order by e.needed_since, e.id limit :limit::bigint

-- name: history
-- rank: read
select h.revision, h.machine, h.from_state, h.to_state, h.at, h.actor, h.key_id, h.because, h.said, h.venue_ref,
  h.evidence_ref, h.evidence_id
from steadhold.effect_history h
where h.workspace = :workspace::text and h.effect = :effect::text and h.revision > :after::bigint
  and (:machine::text is null or h.machine = :machine::text)
order by h.revision limit :limit::bigint

-- name: enter
-- rank: effects by journal, id
-- A charge is written down. An id that is there already answers nothing.
with i as (
  select distinct on (i.journal, i.id) i.* from unnest(
    :journal::text[], :id::text[], :amount::text[], :currency::text[], :effect::text[], :data_ref::text[],
    :causation_id::text[], :note::text[], :actor::text[], :key_id::text[]
  ) with ordinality as i(journal, id, amount, currency, effect, data_ref, causation_id, note, actor, key_id, n)
  order by i.journal, i.id, i.n
), made as (
  insert into steadhold.journal_entries (workspace, journal, id, amount, currency, effect, data_ref, causation_id,
    note, actor, key_id, at)
  select :workspace::text, i.journal, i.id, i.amount, i.currency, i.effect, i.data_ref, i.causation_id, i.note,
    i.actor, i.key_id, steadhold.clock()
  from i order by i.journal, i.id
  on conflict do nothing
  returning journal, id
)
select i.n from i join made on made.journal = i.journal and made.id = i.id

-- name: entered
-- rank: read by journal, id
select i.n, r.journal, r.id, r.amount, r.currency, r.effect, r.data_ref, r.causation_id, r.note, r.actor, r.key_id, r.at
from unnest(:journal::text[], :id::text[]) with ordinality as i(journal, id, n)
join steadhold.journal_entries r on r.workspace = :workspace::text and r.journal = any(:journal::text[])
  and r.journal = i.journal and r.id = i.id

-- name: entries
-- rank: read
-- A page of a journal, the oldest first.
select r.journal, r.id, r.amount, r.currency, r.effect, r.data_ref, r.causation_id, r.note, r.actor, r.key_id, r.at
from steadhold.journal_entries r
where r.workspace = :workspace::text and r.journal = :journal::text
  and (r.at, r.id) > (:after_at::timestamptz, :after::text)
order by r.at, r.id limit :limit::bigint

-- name: glance
-- rank: read
-- planned anew: a bounded walk of one index
select count(*) from (select from steadhold.effects e where e.workspace = :workspace::text and e.reconciliation = 'needed' limit :most::bigint) c
