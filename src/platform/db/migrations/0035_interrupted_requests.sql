-- The processes that serve requests. Each adds to its beats every few seconds while it lives.
create table service_processes (
  id text primary key,
  -- Negative once the process has ended.
  beats bigint not null,
  seen_at timestamptz(3) not null
);

-- The process that holds a claim. Null if nobody does, or if an earlier release made the claim.
alter table idempotency_keys add column process_id text;
-- The claim of the first of several interrupted requests. The ids of what they create are derived from it.
alter table idempotency_keys add column first_claim text;
