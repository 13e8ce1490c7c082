-- Replaces the house's one clock in a test database, so that a test can move it.
--
-- The offset is read by a statement of its own inside a volatile function, hence with a fresh snapshot: a move
-- is seen at once by whoever asks next, also in a transaction that is open, also in a statement that began before.
create schema steadhold_test;
create table steadhold_test.clock (
  single boolean primary key default true check (single),
  ahead interval not null default '0',
  watched boolean not null default false
);
insert into steadhold_test.clock default values;

-- Counts how often the time was asked while watched; a sequence, so that no rollback takes a count back.
create sequence steadhold_test.clock_reads minvalue 0 start 0;

create or replace function steadhold.clock() returns timestamptz
  language plpgsql volatile parallel unsafe security definer
  as $$
declare
  moved interval;
  counted boolean;
begin
  select c.ahead, c.watched into strict moved, counted from steadhold_test.clock c;
  if counted then
    perform nextval('steadhold_test.clock_reads');
  end if;
  return pg_catalog.clock_timestamp() + moved;
end $$;
