-- One-time codes, and the hourly ceilings on how many may be started.

create table verifications (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  tenant_id text,
  environment text not null check (environment in ('live', 'test')),
  project_id text not null,
  channel text not null check (channel in ('email', 'sms')),
  -- A later bounce or complaint suppresses it.
  destination text not null,
  -- HMAC-SHA256 in hex. The code itself is not stored anywhere.
  code_hash text not null check (code_hash ~ '^[0-9a-f]{64}$'),
  attempts smallint not null default 0,
  max_attempts smallint not null,
  dlt_template_id text,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  used_at timestamptz(3),
  primary key (org_id, id),
  check (attempts between 0 and max_attempts)
)
-- Nearly every row is updated once, when its code is checked. Space on its page makes that cheap.
with (fillfactor = 60);
create index verifications_created_at on verifications (created_at);
create index verifications_tenant on verifications (org_id, tenant_id) where tenant_id is not null;

-- The starts of the last hour that count against one ceiling. Rows of an idle hour are deleted.
create table verification_windows (
  org_id text not null references orgs (id) on delete cascade,
  environment text not null check (environment in ('live', 'test')),
  -- The ceiling, and a hash of the destination or key that it belongs to.
  name text not null,
  starts timestamptz(3)[] not null,
  newest_at timestamptz(3) not null,
  primary key (org_id, environment, name)
);
create index verification_windows_newest_at on verification_windows (newest_at);
