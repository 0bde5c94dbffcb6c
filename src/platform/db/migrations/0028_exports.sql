-- Exports of orgs, and the health of the parts of the service.

create table export_jobs (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  status text not null check (status in ('queued', 'running', 'completed', 'failed', 'expired')),
  -- Null once the account is deleted.
  requested_by text references users (id) on delete set null,
  created_at timestamptz(3) not null,
  completed_at timestamptz(3),
  -- When the file is deleted.
  expires_at timestamptz(3),
  -- What is written so far, and of how many rows.
  rows bigint not null default 0,
  size_bytes bigint not null default 0,
  rows_expected bigint,
  -- Why it failed, for people.
  error text,
  -- The name of the file in the store. Null until the file is complete and again once it is deleted.
  file text,
  -- When a worker takes the job. Each claim moves it ahead, so the job is due again if its worker dies.
  due_at timestamptz(3),
  claim text,
  attempts integer not null default 0,
  primary key (org_id, id)
);
create unique index export_jobs_unfinished on export_jobs (org_id) where status in ('queued', 'running');
create index export_jobs_page on export_jobs (org_id, created_at, id);
create index export_jobs_due on export_jobs (due_at) where due_at is not null;
create index export_jobs_expiry on export_jobs (expires_at) where file is not null;
create index export_jobs_requester on export_jobs (requested_by) where requested_by is not null;

-- One row per part and minute.
create table health_probes (
  part text not null,
  minute timestamptz(3) not null,
  state text not null check (state in ('up', 'down')),
  took_ms integer not null,
  primary key (part, minute)
);
create index health_probes_age on health_probes (minute);
