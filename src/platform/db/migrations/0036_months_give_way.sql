-- Processes of the previous release call this every hour. `create table … partition of` needs the strongest lock of its
-- parent; while it waits for that, for example behind a backup, all sends wait behind it. So it waits for 50 ms only, and
-- leaves the month to the next hour. This release creates partitions in src/db/months.ts.
create or replace function ensure_month(parent text, month date) returns void language plpgsql
set lock_timeout = '50ms' as $$
declare
  first timestamptz := (month::timestamp) at time zone 'UTC';
  after timestamptz := ((month + interval '1 month')::timestamp) at time zone 'UTC';
begin
  execute format('create table if not exists %I partition of %I for values from (%L) to (%L)',
    parent || '_' || to_char(month, 'YYYY_MM'), parent, first, after);
exception when check_violation or duplicate_table or lock_not_available then
  return;
end $$;
