-- The house: who the callers are and what a request needs before any capability runs.
-- Every table leads its keys with org_id, so that it can be distributed by org. Times come from the service's
-- clock at millisecond precision, never from now().

create table orgs (
  id text primary key,
  name text not null,
  slug text not null unique,
  plan text not null check (plan in ('free', 'payg', 'pro', 'enterprise')),
  owner_user_id text,
  -- A contract that overrides the plan; null takes the plan's own figure.
  rate_limit_per_minute integer check (rate_limit_per_minute > 0),
  email_monthly bigint check (email_monthly >= 0),
  sms_monthly bigint check (sms_monthly >= 0),
  suspended_at timestamptz(3),
  suspension_reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

create table users (
  id text primary key,
  email text not null unique check (email = lower(email)),
  name text not null default '',
  password_hash text,
  email_verified_at timestamptz(3),
  session_version integer not null default 0,
  default_org_id text references orgs (id) on delete set null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

alter table orgs add constraint orgs_owner foreign key (owner_user_id) references users (id);

create table memberships (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  user_id text not null references users (id) on delete cascade,
  -- Free text on purpose: a role this version does not know resolves to no role, never to an error.
  role text not null,
  created_at timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, user_id)
);
create index memberships_user on memberships (user_id, created_at, id);

create table sessions (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  token_hash bytea not null unique,
  session_version integer not null,
  method text not null,
  ip_address text,
  user_agent text not null default '',
  created_at timestamptz(3) not null,
  last_active_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index sessions_user on sessions (user_id, created_at);

create table projects (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  name text not null,
  slug text not null,
  is_default boolean not null default false,
  created_environment text not null check (created_environment in ('live', 'test')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, slug)
);
create unique index projects_default on projects (org_id) where is_default;

create table tenants (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  slug text not null,
  name text not null,
  -- Lower-cased by the service: what a database makes of letters beyond ASCII depends on its locale.
  external_ref text,
  status text not null check (status in ('active', 'suspended', 'archived', 'erased')),
  created_environment text not null check (created_environment in ('live', 'test')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  suspended_at timestamptz(3),
  archived_at timestamptz(3),
  erased_at timestamptz(3),
  primary key (org_id, id)
);
create unique index tenants_slug on tenants (org_id, slug) where status <> 'erased';
create unique index tenants_external_ref on tenants (org_id, external_ref);

create table api_keys (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  hash bytea not null,
  name text not null,
  environment text not null check (environment in ('live', 'test')),
  prefix text not null,
  last_four text not null,
  scopes text[] not null,
  -- No foreign key: a key whose tenant is gone must still be told so.
  tenant_id text,
  project_id text,
  allowed_domain_ids text[],
  allowed_cidrs text[],
  rate_limit_per_minute integer,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  -- The person who made it in the dashboard; null for a key made by a key or an operator.
  created_by text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  primary key (org_id, id),
  foreign key (org_id, project_id) references projects (org_id, id)
);
-- The one look-up that cannot start from an org: the key is what says which org it is.
create unique index api_keys_hash on api_keys (hash);
create index api_keys_page on api_keys (org_id, created_at desc, id desc);

create table domains (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  project_id text not null,
  tenant_id text,
  name text not null check (name = lower(name)),
  status text not null check (status in ('pending', 'verified', 'unverified')),
  dkim_status text not null,
  region text not null,
  created_environment text not null check (created_environment in ('live', 'test')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  verified_at timestamptz(3),
  primary key (org_id, id),
  unique (org_id, project_id, name),
  foreign key (org_id, project_id) references projects (org_id, id)
);
create index domains_name on domains (org_id, name);

create table phone_numbers (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  tenant_id text,
  environment text not null check (environment in ('live', 'test')),
  kind text not null check (kind in ('number', 'alphanumeric')),
  e164 text,
  sender_id text,
  iso_country text not null,
  status text not null check (status in ('pending', 'verified', 'unverified', 'failed')),
  provider_status text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  check ((kind = 'number') = (e164 is not null)),
  check ((kind = 'alphanumeric') = (sender_id is not null)),
  unique (org_id, e164),
  unique (org_id, sender_id)
);

create table suppressions (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  tenant_id text,
  channel text not null check (channel in ('email', 'sms')),
  value text not null,
  reason text not null check (reason in ('bounce', 'complaint', 'unsubscribe', 'stop', 'manual')),
  source text not null check (source in ('api', 'dashboard', 'provider', 'one_click', 'email_link', 'sms_reply')),
  message_id text,
  created_environment text not null check (created_environment in ('live', 'test')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  constraint suppressions_target unique nulls not distinct (org_id, channel, value, tenant_id)
);
create index suppressions_page on suppressions (org_id, created_at desc, id desc);
create index suppressions_tenant_page on suppressions (org_id, tenant_id, created_at desc, id desc)
  where tenant_id is not null;

create table idempotency_keys (
  org_id text not null references orgs (id) on delete cascade,
  tenant_id text,
  environment text not null check (environment in ('live', 'test')),
  key text not null,
  fingerprint bytea not null,
  -- Who holds the claim: an answer is recorded only by the request that still holds it.
  claim text not null,
  locked_until timestamptz(3),
  status integer,
  body text,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  constraint idempotency_keys_one unique nulls not distinct (org_id, tenant_id, environment, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);

-- Facts about the installation itself, such as the dev clock's offset.
create table settings (
  name text primary key,
  value jsonb not null,
  updated_at timestamptz(3) not null
);

-- Processes keep short copies of callers. Whatever changes a caller says so, whoever made the change.
create function announce_caller_change() returns trigger language plpgsql as $$
declare
  changed text;
begin
  if tg_table_name = 'orgs' then
    changed := coalesce(new.id, old.id);
  else
    changed := coalesce(new.org_id, old.org_id);
  end if;
  perform pg_notify('callers_changed', changed);
  return null;
end $$;

create trigger orgs_announce after update of plan, rate_limit_per_minute, suspended_at or delete on orgs
  for each row execute function announce_caller_change();
create trigger tenants_announce after insert or update of status, external_ref or delete on tenants
  for each row execute function announce_caller_change();
create trigger api_keys_announce
  after update of scopes, tenant_id, project_id, allowed_domain_ids, allowed_cidrs, rate_limit_per_minute,
    expires_at, revoked_at or delete on api_keys
  for each row execute function announce_caller_change();
