-- The subjects that a waiting message of a job can get. The message gets one of them when the best is known.
create table job_subjects (
  org_id text not null,
  job_id text not null,
  message_id text not null,
  created_at timestamptz(3) not null,
  tenant_id text,
  subjects text[] not null,
  primary key (org_id, job_id, message_id),
  foreign key (org_id, job_id) references jobs (org_id, id) on delete cascade
);
create index job_subjects_tenant on job_subjects (org_id, tenant_id) where tenant_id is not null;
