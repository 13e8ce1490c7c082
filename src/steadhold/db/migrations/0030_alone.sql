-- Statements that are transactions by themselves.

-- Inboxes that there are, with their counters taken until commit, as they are then: a statement that waits for a lock sees
-- what was committed before it began, and each statement of such a function what was committed before that began.
create function steadhold.held_inboxes(workspace text, names text[]) returns setof steadhold.inboxes_now
  language plpgsql volatile
  as $$
begin
  perform from steadhold.inboxes b
  where b.workspace = held_inboxes.workspace and b.name = any(held_inboxes.names)
  order by b.name for no key update;
  return query select * from steadhold.inboxes_now b
  where b.workspace = held_inboxes.workspace and b.name = any(held_inboxes.names) and b.present;
end $$;

-- What inboxes have accepted under keys, as it is known once they are held.
create function steadhold.known_keys(workspace text, inboxes uuid[], keys text[]) returns setof steadhold.inbox_keys
  language plpgsql volatile
  as $$
begin
  return query select * from steadhold.inbox_keys k
  where k.workspace = known_keys.workspace and k.inbox = any(known_keys.inboxes) and k.key = any(known_keys.keys);
end $$;

-- What a statement that is a transaction by itself adds to the meters of a workspace: see access.meter. Null adds nothing.
create function steadhold.add_to_meters(workspace text, names bigint, bytes bigint) returns boolean
  language sql volatile strict
  as $$
with more(what, amount) as (
  values ('bytes', add_to_meters.bytes), ('names', add_to_meters.names)
), held as materialized (
  select m.what, m.slot, more.amount from steadhold.meters m join more on more.what = m.what
  where m.workspace = add_to_meters.workspace and m.slot = pg_catalog.pg_backend_pid() % 16 and more.amount <> 0
  order by m.what for no key update of m
), added as (
  update steadhold.meters m set amount = m.amount + held.amount from held
  where m.workspace = add_to_meters.workspace and m.what = held.what and m.slot = held.slot
)
select true
$$;
