-- Figures of messages by day, and the look-up of contacts over all tenants of an org.

-- A platform key searches contacts in the whole org.
create index contacts_email_any on contacts (org_id, lower(email), created_at, id) where email is not null;
create index contacts_phone_any on contacts (org_id, phone, created_at, id) where phone is not null;
-- Replaced by the index above.
drop index contacts_phone;

-- Only for finding the audiences of a contact. With an index in the order of contacts, the database would sometimes read
-- the members of all audiences to list those of one.
drop index audience_members_contact;
create index audience_members_contact_id on audience_members using hash (contact_id);

-- What happened to messages and is not yet in analytics_days. Rows come from the outbox when they leave it.
create table analytics_queue (
  org_id text not null,
  -- The id of the event.
  id text not null,
  message_id text not null,
  kind text not null,
  at timestamptz(3) not null,
  primary key (org_id, id)
);

-- What counts only once for a message, although it can happen several times.
create table analytics_firsts (
  org_id text not null,
  message_id text not null,
  kind text not null,
  -- The day that the message belongs to. Once that day is no longer shown, the row is not needed.
  day date not null,
  primary key (org_id, message_id, kind)
);
create index analytics_firsts_age on analytics_firsts (day);

-- Each message counts under tenant '' (the whole org), and under its own tenant if it has one. In each of these it
-- counts as part 'other' if it belongs to no job, and otherwise twice: as part 'jobs', the total of all jobs of the
-- day, and as part 'job' under its job and variant. A read by day therefore needs two rows a day, however many jobs
-- there are.
create table analytics_days (
  org_id text not null references orgs (id) on delete cascade,
  environment text not null check (environment in ('live', 'test')),
  tenant_id text not null,
  part text not null check (part in ('other', 'jobs', 'job')),
  day date not null,
  -- '' except for part 'job'. The variant is '' also for messages of a job without variants.
  job_id text not null,
  variant text not null,
  project_id text not null,
  sent bigint not null,
  delivered bigint not null,
  bounced bigint not null,
  failed bigint not null,
  complained bigint not null,
  opened bigint not null,
  clicked bigint not null,
  unsubscribed bigint not null,
  primary key (org_id, environment, tenant_id, part, day, job_id, variant, project_id)
) with (fillfactor = 70);
create index analytics_days_job on analytics_days (org_id, job_id) where part = 'job';
-- By the number of the day: an index on the day itself would attract reads, which need the rows of one org.
create index analytics_days_age on analytics_days ((day - date '2000-01-01'));

-- The time in an id: the first ten of its 26 digits, with five bits each.
create function time_of_id(id text) returns timestamptz language sql immutable strict parallel safe
  return to_timestamp((
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 1, 1)) - 1)::bigint << 45) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 2, 1)) - 1)::bigint << 40) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 3, 1)) - 1)::bigint << 35) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 4, 1)) - 1)::bigint << 30) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 5, 1)) - 1)::bigint << 25) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 6, 1)) - 1)::bigint << 20) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 7, 1)) - 1)::bigint << 15) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 8, 1)) - 1)::bigint << 10) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 9, 1)) - 1)::bigint << 5) |
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(right(id, 26), 10, 1)) - 1)::bigint << 0)
  )::double precision / 1000);

-- Every event of a message leaves the outbox exactly once, in the transaction that fans it out. A trigger sees this in
-- every release that runs on this schema.
create function queue_for_analytics() returns trigger language plpgsql as $$
begin
  insert into analytics_queue (org_id, id, message_id, kind, at)
  select org_id, id, data ->> 'message_id', substr(event, 9), created_at
  from gone
  where event like 'message.%' and data ->> 'message_id' is not null;
  return null;
end $$;
create trigger events_counted after delete on events referencing old table as gone
  for each statement execute function queue_for_analytics();
