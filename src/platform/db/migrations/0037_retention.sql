-- Messages of jobs that retention has removed, by status. The counts of a job include them.
create table removed_job_messages (
  org_id text not null,
  job_id text not null,
  status text not null,
  messages bigint not null check (messages > 0),
  primary key (org_id, job_id, status),
  foreign key (org_id, job_id) references jobs (org_id, id) on delete cascade
);

-- Rows pass through these tables, or the same few rows are changed all the time. By default a vacuum waits for a fifth of
-- the rows that were there when it last looked, which is too many after a backlog, and then pauses between pages.
alter table events set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table audit_unlinked set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table analytics_queue set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table usage_reservations set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table usage_leases set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table webhook_lanes set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table service_processes set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
alter table audit_chains set
  (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- These can be large, since rows stay for hours or longer. A fifth of them would be many dead rows.
alter table idempotency_keys set (autovacuum_vacuum_scale_factor = 0.02);
alter table tracking_marks set (autovacuum_vacuum_scale_factor = 0.02);
alter table tracking_windows set (autovacuum_vacuum_scale_factor = 0.02);
alter table verification_windows set (autovacuum_vacuum_scale_factor = 0.02);
alter table usage_counters set (autovacuum_vacuum_scale_factor = 0.02);
alter table analytics_days set (autovacuum_vacuum_scale_factor = 0.02);
