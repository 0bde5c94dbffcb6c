-- Webhooks: who is told of events, and every telling.

create table webhook_endpoints (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  -- Null receives the events of the whole org.
  tenant_id text,
  url text not null,
  description text,
  -- Names, or `*`. Empty is a pause.
  events text[] not null,
  enabled boolean not null,
  disabled_reason text check (disabled_reason in ('auto', 'manual')),
  disabled_at timestamptz(3),
  -- Deliveries in a row that were given up; any 2xx sets it back.
  consecutive_failures integer not null default 0,
  -- Sealed under the master key, bound to this row.
  secret text not null,
  secret_rotated_at timestamptz(3),
  created_environment text not null check (created_environment in ('live', 'test')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id)
);
create index webhook_endpoints_page on webhook_endpoints (org_id, created_at desc, id desc);

-- One row per endpoint that says when something is due there and which worker has it in hand. A worker leases the
-- whole lane, so that an endpoint's limit holds over all processes; a lease that is not renewed runs out.
create table webhook_lanes (
  org_id text not null,
  endpoint_id text not null,
  -- Null: nothing waits, or its holder looks for itself.
  due_at timestamptz(3),
  lease text,
  leased_until timestamptz(3),
  primary key (org_id, endpoint_id),
  foreign key (org_id, endpoint_id) references webhook_endpoints (org_id, id) on delete cascade
);
create index webhook_lanes_due on webhook_lanes (due_at) where due_at is not null;
create index webhook_lanes_leased on webhook_lanes (leased_until) where lease is not null;

-- The id holds the time of creation, so a row is found by its id within one partition.
create table webhook_deliveries (
  org_id text not null,
  id text not null,
  created_at timestamptz(3) not null,
  endpoint_id text not null,
  tenant_id text,
  environment text check (environment in ('live', 'test')),
  event text not null,
  -- The body as it is sent, byte for byte, on every attempt. It ends with the delivery's own id.
  payload text not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'canceled')),
  attempt_count integer not null default 0,
  max_attempts integer not null,
  attempts jsonb not null default '[]',
  next_attempt_at timestamptz(3),
  delivered_at timestamptz(3),
  replay_of text,
  replayed_as text,
  primary key (org_id, id, created_at)
) partition by range (created_at);
create table webhook_deliveries_other partition of webhook_deliveries default;

create index webhook_deliveries_page on webhook_deliveries (org_id, endpoint_id, created_at desc, id desc);
create index webhook_deliveries_due on webhook_deliveries (org_id, endpoint_id, next_attempt_at, id)
  where status = 'pending';
create index webhook_deliveries_status on webhook_deliveries (org_id, endpoint_id, status, created_at desc, id desc)
  where status <> 'delivered';
create index webhook_deliveries_tenant on webhook_deliveries (org_id, tenant_id) where tenant_id is not null;
-- Retention walks by age, which is also the order rows lie in.
create index webhook_deliveries_age on webhook_deliveries using brin (created_at);
