-- Contacts, audiences and their members, and the jobs that send to an audience.

create table contacts (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  tenant_id text,
  created_environment text not null check (created_environment in ('live', 'test')),
  name text,
  email text,
  phone text,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  check (email is not null or phone is not null)
);
create unique index contacts_email on contacts (org_id, coalesce(tenant_id, ''), lower(email)) where email is not null;
-- Two requests that create the same contact without an email address must not both succeed.
create unique index contacts_only_phone on contacts (org_id, coalesce(tenant_id, ''), phone) where email is null;
create index contacts_phone on contacts (org_id, coalesce(tenant_id, ''), phone) where phone is not null;
create index contacts_page on contacts (org_id, created_at, id);
create index contacts_tenant_page on contacts (org_id, tenant_id, created_at, id) where tenant_id is not null;

create table audiences (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  tenant_id text,
  created_environment text not null check (created_environment in ('live', 'test')),
  name text not null,
  slug text not null,
  -- Changed by the statement that links or unlinks a contact, so that no read counts the members.
  member_count integer not null default 0 check (member_count >= 0),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, slug)
);
create index audiences_page on audiences (org_id, created_at, id);
create index audiences_tenant_page on audiences (org_id, tenant_id, created_at, id) where tenant_id is not null;

create table audience_members (
  org_id text not null,
  audience_id text not null,
  contact_id text not null,
  created_at timestamptz(3) not null,
  primary key (org_id, audience_id, contact_id),
  foreign key (org_id, audience_id) references audiences (org_id, id) on delete cascade,
  foreign key (org_id, contact_id) references contacts (org_id, id) on delete cascade
);
create index audience_members_contact on audience_members (org_id, contact_id);

create table jobs (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  tenant_id text,
  environment text not null check (environment in ('live', 'test')),
  project_id text not null,
  key_id text,
  -- An audience can be deleted while its job runs.
  audience_id text not null,
  channel text not null check (channel in ('email', 'sms')),
  status text not null check (status in ('scheduling', 'scheduled', 'running', 'completed', 'canceled')),
  incomplete boolean not null default false,
  from_address text not null,
  template text not null,
  total integer not null,
  scheduled integer not null default 0,
  suppressed integer not null default 0,
  deferred_quiet_hours integer not null default 0,
  -- The choice of the better subject, while it is open and afterwards.
  winner jsonb,
  starts_at timestamptz(3),
  ends_at timestamptz(3),
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  completed_at timestamptz(3),
  canceled_at timestamptz(3),
  primary key (org_id, id)
);
create index jobs_page on jobs (org_id, environment, created_at, id);
create index jobs_tenant_page on jobs (org_id, tenant_id, environment, created_at, id) where tenant_id is not null;
create index jobs_open on jobs (org_id, id) where status in ('scheduling', 'scheduled', 'running');

-- Rows of a job, for cancelling it and for noticing its end.
create index messages_job on messages (org_id, job_id, status) where job_id is not null;

alter table orgs add column sms_quiet_hours boolean not null default true;
