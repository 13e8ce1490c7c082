-- A result that lies here is named by its job and its digest, and an owner that says nothing but the result has said
-- that digest: so most finished jobs store no reference.
alter table steadhold.jobs
  drop constraint jobs_check1,
  add constraint jobs_completed check ((state = 3) = (result is not null or result_ref is not null));

create function steadhold.result_ref(id uuid, state smallint, result_ref text, settled_digest bytea) returns text
  language sql stable parallel safe
  as $$
  select case when state = 3 then
    coalesce(result_ref, 'job:' || id::text || '/result#sha256:' || encode(settled_digest, 'hex'))
  end
$$;
