-- Sending domains with their keys, records and checks; dedicated IP pools.

create table ip_pools (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  name text not null,
  region text not null,
  paused boolean not null default false,
  ip_count integer not null check (ip_count > 0),
  -- One per address: {"address", "status"}.
  ips jsonb not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id)
);
create index ip_pools_page on ip_pools (org_id, created_at desc, id desc);

update domains set dkim_status = upper(dkim_status);

alter table domains
  add constraint domains_dkim_status check (dkim_status in
    ('PENDING', 'SUCCESS', 'FAILED', 'TEMPORARY_FAILURE', 'NOT_STARTED', 'IDENTITY_NOT_FOUND')),
  add column dkim_selector text not null default 'svc1',
  -- Base64 of the key's SubjectPublicKeyInfo, and its private half sealed under the master key. Null on rows that
  -- are older than their keys: nothing was ever asked of their DNS.
  add column dkim_public_key text,
  add column dkim_private_key text,
  add column return_path text not null default 'send',
  add column inbound boolean not null default false,
  add column ip_pool_id text,
  -- All three or none. The window ends at 00:00 UTC.
  add column warmup_days integer,
  add column warmup_started_at timestamptz(3),
  add column warmup_ends_at timestamptz(3),
  add column last_checked_at timestamptz(3),
  -- Null: never again.
  add column next_check_at timestamptz(3),
  -- Since when it is not verified: how often it is checked depends on it.
  add column waiting_since timestamptz(3),
  -- Who checks it. A result is recorded only by the check that began last.
  add column check_claim text,
  add column temporary_failures integer not null default 0,
  -- By record: pending, found or mismatch.
  add column record_statuses jsonb not null default '{}',
  -- What the simulated provider reports, where the dev tools said so.
  add column simulated_status text,
  add constraint domains_warmup check (
    num_nonnulls(warmup_days, warmup_started_at, warmup_ends_at) in (0, 3)),
  add constraint domains_ip_pool foreign key (org_id, ip_pool_id) references ip_pools (org_id, id);

update domains set waiting_since = created_at where status <> 'verified';
update domains set next_check_at = created_at where dkim_status <> 'IDENTITY_NOT_FOUND';

create index domains_page on domains (org_id, created_at desc, id desc);
create index domains_due on domains (next_check_at) where next_check_at is not null;
create index domains_ip_pool on domains (org_id, ip_pool_id) where ip_pool_id is not null;

-- Processes keep short copies of who may send from where. Checks that change nothing are not told of.
create trigger domains_announce after insert or delete on domains
  for each row execute function announce_caller_change();
create trigger domains_announce_change after update on domains
  for each row when (
    (old.status, old.tenant_id, old.project_id, old.region, old.return_path, old.ip_pool_id, old.dkim_selector,
      old.dkim_private_key, old.warmup_days, old.warmup_started_at)
    is distinct from
    (new.status, new.tenant_id, new.project_id, new.region, new.return_path, new.ip_pool_id, new.dkim_selector,
      new.dkim_private_key, new.warmup_days, new.warmup_started_at))
  execute function announce_caller_change();
create trigger ip_pools_announce after update of paused on ip_pools
  for each row when (old.paused is distinct from new.paused) execute function announce_caller_change();
