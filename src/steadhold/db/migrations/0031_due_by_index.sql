-- What is due is asked often, and of all workspaces: each finds its own by index, one by one. A join reads all that any of
-- them keeps, and finds, after so long, that nothing of it is due yet. So does a plan that was made when a table was small,
-- for which any index was as good as another: PostgreSQL 18 keeps the plans of functions, so these are asked anew each time.
-- Where no index fits, the cost of a scan that is turned off would have each plan compiled, and PostgreSQL before 17 keeps
-- memory of that: they are not.
do $$
declare
  due record;
begin
  for due in
    select p.proname as name, p.prosrc as body, pg_get_function_result(p.oid) as result
    from pg_catalog.pg_proc p
    where p.pronamespace = 'steadhold'::regnamespace and p.proname like 'due\_%'
  loop
    execute format(
      'create or replace function steadhold.%I() returns %s language plpgsql stable security definer'
      ' set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off'
      ' set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on as %L',
      due.name, due.result, format('begin return query execute %L; end', due.body));
  end loop;
end $$;
