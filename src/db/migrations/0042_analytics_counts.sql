-- Messages of orgs without a webhook endpoint, counted together: nobody receives their events, so none is written. The
-- worker adds the rows to analytics_days.
create table analytics_counts (
  org_id text not null,
  -- The id that the event of the first of these messages would have.
  id text not null,
  environment text not null,
  tenant_id text,
  project_id text not null,
  channel text not null,
  day date not null,
  kind text not null,
  amount bigint not null,
  primary key (org_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
