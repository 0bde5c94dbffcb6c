-- Messages: one row per envelope, whatever the channel.

-- A month's partition, made ahead of time. Rows that came before it stand in the default partition and keep the
-- month there: nothing is moved under a running service.
create function ensure_month(parent text, month date) returns void language plpgsql as $$
declare
  first timestamptz := (month::timestamp) at time zone 'UTC';
  after timestamptz := ((month + interval '1 month')::timestamp) at time zone 'UTC';
begin
  execute format('create table if not exists %I partition of %I for values from (%L) to (%L)',
    parent || '_' || to_char(month, 'YYYY_MM'), parent, first, after);
exception when check_violation or duplicate_table then
  return;
end $$;

-- What a list of one org is searched by. The org is part of every entry: a word that all orgs use costs each of them
-- its own rows only. Addresses compare without regard to case and are shown as they were given.
create function tags_in(org_id text, list text[]) returns text[] language sql immutable parallel safe
  return array(select org_id || ' ' || one from unnest(list) as one);
create function addresses_in(org_id text, list text[]) returns text[] language sql immutable parallel safe
  return array(select org_id || ' ' || lower(one) from unnest(list) as one);

-- The id holds the time of creation, so a row is found by its id within one partition.
create table messages (
  org_id text not null,
  id text not null,
  created_at timestamptz(3) not null,
  tenant_id text,
  environment text not null check (environment in ('live', 'test')),
  project_id text not null,
  -- Null for traffic of no key, such as a dashboard test send.
  key_id text,
  channel text not null check (channel in ('email', 'sms')),
  status text not null
    check (status in ('scheduled', 'sending', 'sent', 'delivered', 'bounced', 'failed', 'canceled')),
  stream text not null default 'transactional' check (stream in ('transactional', 'broadcast')),
  from_address text not null,
  from_name text,
  to_addresses text[] not null,
  cc text[] not null default '{}',
  bcc text[] not null default '{}',
  reply_to text[] not null default '{}',
  -- Display names of recipients, by address.
  names jsonb,
  subject text,
  html text,
  text text,
  headers jsonb,
  attachments jsonb,
  track_opens boolean not null default false,
  track_clicks boolean not null default false,
  tags text[] not null default '{}',
  metadata jsonb,
  scheduled_at timestamptz(3),
  sent_at timestamptz(3),
  delivered_at timestamptz(3),
  canceled_at timestamptz(3),
  redacted_at timestamptz(3),
  error_message text,
  provider text,
  provider_response jsonb,
  -- Every state it was in and every recipient's report, oldest first.
  history jsonb not null default '[]',
  job_id text,
  -- When the scheduler looks at it next; deferrals and retries move it, never scheduled_at.
  due_at timestamptz(3),
  -- Who works on it since when. A claim older than five minutes is stale.
  claim text,
  claimed_at timestamptz(3),
  attempts integer not null default 0,
  primary key (org_id, id, created_at)
) partition by range (created_at);
create table messages_other partition of messages default;

create index messages_page on messages (org_id, channel, environment, created_at desc, id desc);
create index messages_status on messages (org_id, channel, environment, status, created_at desc, id desc)
  where status not in ('sent', 'delivered');
create index messages_tenant_page on messages (org_id, tenant_id, channel, environment, created_at desc, id desc)
  where tenant_id is not null;
create index messages_project on messages (org_id, project_id, channel, environment, created_at desc, id desc);
create index messages_to on messages using gin (addresses_in(org_id, to_addresses));
create index messages_tags on messages using gin (tags_in(org_id, tags)) where tags <> '{}';
create index messages_waiting on messages (org_id, due_at) where status in ('scheduled', 'sending');
create index messages_content on messages (created_at)
  where redacted_at is null and status not in ('scheduled', 'sending');

-- What recipients did: loads of the pixel, links followed, unsubscribes; and what providers reported.
create table message_events (
  org_id text not null,
  id text not null,
  at timestamptz(3) not null,
  message_id text,
  tenant_id text,
  environment text not null check (environment in ('live', 'test')),
  channel text not null check (channel in ('email', 'sms')),
  kind text not null
    check (kind in ('delivered', 'bounced', 'failed', 'complained', 'opened', 'clicked', 'unsubscribed')),
  recipient text,
  url text,
  address text,
  primary key (org_id, id, at)
) partition by range (at);
create table message_events_other partition of message_events default;
create index message_events_message on message_events (org_id, message_id, at);
create index message_events_tenant on message_events (org_id, tenant_id) where tenant_id is not null;
create index message_events_page on message_events (org_id, at);

-- When a message's pixel or link was last counted for an address: within an hour it counts once.
create table tracking_marks (
  org_id text not null,
  message_id text not null,
  -- Digest of kind, address and, for clicks, url.
  mark bytea not null,
  at timestamptz(3) not null,
  primary key (org_id, message_id, mark)
);
create index tracking_marks_age on tracking_marks (at);

-- Notifications of providers already taken in, so that a repeated one changes nothing.
create table provider_notifications (
  provider text not null,
  id text not null,
  at timestamptz(3) not null,
  primary key (provider, id)
);
create index provider_notifications_age on provider_notifications (at);

-- What the local provider was handed, the newest of it.
create table local_outbox (
  id text primary key,
  channel text not null,
  message_id text,
  verification_id text,
  mail jsonb not null,
  at timestamptz(3) not null
);
create index local_outbox_page on local_outbox (at desc, id desc);
