-- SMS: senders and their registrations, pools, India DLT, inbound messages, and what a text message adds to a message.

-- Columns of text messages only. One column keeps the row of an email as short as before.
-- Keys: segments, from_pool, media_url, dlt_template_id, scheduled_local, scheduled_at_tz.
alter table messages add column sms jsonb;

-- Scheduled messages that still need a DLT template.
create index messages_dlt on messages (org_id, (sms ->> 'dlt_template_id'))
  where status in ('scheduled', 'sending') and sms ->> 'dlt_template_id' is not null;

-- Scheduled for a local time, whose instant may change with the rules of the zone.
create index messages_local on messages (org_id, id)
  where status = 'scheduled' and sms ->> 'scheduled_local' is not null;

-- The destination countries that the org allows, such as "US,GB". Null allows every country, '' none.
alter table orgs add column sms_geo text;

create table brands (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  environment text not null check (environment in ('live', 'test')),
  status text not null check (status in ('pending', 'verified', 'unverified', 'failed')),
  status_reason text,
  -- Null until the registry has opened the registration.
  provider_id text,
  -- Null until the registry has received the values.
  provider_status text,
  -- Null while the registry's list of fields could not be read.
  provider_missing_fields text[],
  -- The fields of the registration, by the names of the API.
  fields jsonb not null,
  verified_at timestamptz(3),
  -- When a request or a worker began to register it. Another one leaves it alone for a while.
  claimed_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id)
);
create index brands_page on brands (org_id, created_at, id);
-- Registrations that the registry has not got yet.
create index brands_orphans on brands (org_id, id) where status = 'pending' and provider_status is null;

create table campaigns (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  brand_id text not null,
  environment text not null check (environment in ('live', 'test')),
  kind text not null check (kind in ('10dlc', 'tollfree')),
  status text not null check (status in ('pending', 'verified', 'unverified', 'failed')),
  status_reason text,
  provider_id text,
  provider_status text,
  provider_missing_fields text[],
  fields jsonb not null,
  verified_at timestamptz(3),
  claimed_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  foreign key (org_id, brand_id) references brands (org_id, id)
);
create index campaigns_page on campaigns (org_id, created_at, id);
create index campaigns_brand on campaigns (org_id, brand_id);
create index campaigns_orphans on campaigns (org_id, id) where status = 'pending' and provider_status is null;

-- A number has no e164 until the registry has provisioned it. Sender ids are unique without case, per environment.
alter table phone_numbers
  drop constraint phone_numbers_check,
  drop constraint phone_numbers_org_id_sender_id_key,
  add column type text check (type in ('longcode', 'tollfree')),
  add column campaign_id text,
  add column status_reason text,
  add column provider_id text,
  add column capabilities text[] not null default '{sms}',
  add column verified_at timestamptz(3),
  add column claimed_at timestamptz(3);
update phone_numbers set verified_at = created_at where status = 'verified';
create unique index phone_numbers_sender_id on phone_numbers (org_id, environment, lower(sender_id))
  where sender_id is not null;
create index phone_numbers_page on phone_numbers (org_id, created_at, id);
create index phone_numbers_orphans on phone_numbers (org_id, id)
  where status = 'pending' and provider_status is null;
create index phone_numbers_campaign on phone_numbers (org_id, campaign_id) where campaign_id is not null;
-- Inbound messages are found by the number that received them.
create index phone_numbers_e164 on phone_numbers (e164) where e164 is not null;

create table pools (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  tenant_id text,
  slug text not null,
  name text not null,
  created_environment text not null check (created_environment in ('live', 'test')),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  constraint pools_slug unique nulls not distinct (org_id, slug, tenant_id)
);
create index pools_page on pools (org_id, created_at, id);
create index pools_tenant on pools (org_id, tenant_id) where tenant_id is not null;
create index phone_numbers_tenant on phone_numbers (org_id, tenant_id) where tenant_id is not null;

create table pool_members (
  org_id text not null,
  pool_id text not null,
  phone_number_id text not null,
  -- The order in which the pool lists its members.
  place integer not null,
  -- How many recipients were assigned to it. New recipients get the member with the fewest.
  recipients bigint not null default 0,
  primary key (org_id, pool_id, phone_number_id),
  foreign key (org_id, pool_id) references pools (org_id, id) on delete cascade,
  foreign key (org_id, phone_number_id) references phone_numbers (org_id, id) on delete cascade
);
create index pool_members_number on pool_members (org_id, phone_number_id);

-- The sender that a recipient of a pool keeps.
create table pool_recipients (
  org_id text not null,
  pool_id text not null,
  recipient text not null,
  phone_number_id text not null,
  at timestamptz(3) not null,
  primary key (org_id, pool_id, recipient),
  foreign key (org_id, pool_id) references pools (org_id, id) on delete cascade
);

create table dlt_entities (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  environment text not null check (environment in ('live', 'test')),
  entity_id text not null,
  legal_name text not null,
  status text not null check (status in ('pending', 'submitted', 'approved', 'rejected')),
  rejection_reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id)
);
create index dlt_entities_page on dlt_entities (org_id, created_at, id);

create table dlt_headers (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  environment text not null check (environment in ('live', 'test')),
  entity text not null,
  header text not null,
  category text not null,
  status text not null check (status in ('pending', 'submitted', 'approved', 'rejected')),
  rejection_reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  foreign key (org_id, entity) references dlt_entities (org_id, id)
);
create index dlt_headers_page on dlt_headers (org_id, created_at, id);
create index dlt_headers_entity on dlt_headers (org_id, entity);

create table dlt_templates (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  environment text not null check (environment in ('live', 'test')),
  entity text not null,
  header text not null,
  name text not null,
  category text not null,
  content text not null,
  status text not null check (status in ('pending', 'submitted', 'approved', 'rejected')),
  -- Issued by the provider with the approval.
  provider_template_id text,
  rejection_reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  foreign key (org_id, entity) references dlt_entities (org_id, id),
  foreign key (org_id, header) references dlt_headers (org_id, id)
);
create index dlt_templates_page on dlt_templates (org_id, created_at, id);
create index dlt_templates_entity on dlt_templates (org_id, entity);
create index dlt_templates_header on dlt_templates (org_id, header);

-- What the simulated registry reports for a row, as the development tools set it.
create table simulated_registry (
  id text primary key,
  status text not null,
  missing_fields text[],
  reason text,
  at timestamptz(3) not null
);

create table inbound_messages (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  channel text not null check (channel in ('email', 'sms')),
  tenant_id text,
  from_address text not null,
  to_addresses text[] not null,
  subject text,
  -- The body of a text message, or the text part of an email.
  text text,
  html text,
  media_url text[],
  -- Name, type and size of each attachment of an email.
  attachments jsonb,
  kind text not null check (kind in ('reply', 'opt_out', 'help')),
  keyword text,
  in_reply_to text,
  received_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  redacted_at timestamptz(3),
  primary key (org_id, id)
);
create index inbound_messages_page on inbound_messages (org_id, created_at, id);
create index inbound_messages_tenant on inbound_messages (org_id, tenant_id, created_at, id) where tenant_id is not null;
create index inbound_messages_from on inbound_messages (org_id, from_address, created_at, id);
create index inbound_messages_age on inbound_messages (created_at) where redacted_at is null;

-- Finds the message that a delivery receipt is about, when the provider reports only its own id.
create table sms_receipts (
  provider text not null,
  provider_message_id text not null,
  org_id text not null,
  message_id text not null,
  part int not null default 1,
  parts int not null default 1,
  -- The last digits of the recipient's number.
  recipient_end text not null default '',
  delivered_at timestamptz(3),
  at timestamptz(3) not null,
  primary key (provider, provider_message_id)
);
create index sms_receipts_message on sms_receipts (org_id, message_id);
create index sms_receipts_age on sms_receipts (at);

-- Processes keep short copies of senders, pools and DLT templates.
create trigger phone_numbers_announce after insert or update or delete on phone_numbers
  for each row execute function announce_caller_change();
create trigger pools_announce after insert or update or delete on pools
  for each row execute function announce_caller_change();
-- Not on update, because every new recipient changes a count.
create trigger pool_members_announce after insert or delete on pool_members
  for each row execute function announce_caller_change();
create trigger dlt_templates_announce after insert or update or delete on dlt_templates
  for each row execute function announce_caller_change();
create trigger orgs_announce_sms_geo after update of sms_geo on orgs
  for each row execute function announce_caller_change();
