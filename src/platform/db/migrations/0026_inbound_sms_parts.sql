-- Parts of long text messages that are not complete yet, and for a day those that are, to recognise repeated ones.
create table inbound_sms_parts (
  org_id text not null references orgs (id) on delete cascade,
  -- The parts of one message.
  group_id text not null,
  part integer not null,
  parts integer not null,
  provider text not null,
  from_address text not null,
  to_address text not null,
  -- The sender's number of the message. It is used again after a while.
  reference text not null,
  -- UTF-16, because a part can end in the middle of a character. Null when the message is stored.
  content bytea,
  digest bytea not null,
  received_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  -- From then on the group gets no more parts.
  closed_at timestamptz(3),
  taken_at timestamptz(3),
  primary key (org_id, group_id, part)
);
create index inbound_sms_parts_sender on inbound_sms_parts (org_id, from_address, to_address, reference, parts);
create index inbound_sms_parts_open on inbound_sms_parts (created_at) where taken_at is null;
create index inbound_sms_parts_taken on inbound_sms_parts (taken_at) where taken_at is not null;
