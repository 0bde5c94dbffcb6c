-- The content of attachments of received emails. Name, type and size are in the message.
create table inbound_attachments (
  org_id text not null,
  inbound_id text not null,
  -- The place in inbound_messages.attachments, from 0.
  position integer not null,
  content bytea not null,
  primary key (org_id, inbound_id, position),
  foreign key (org_id, inbound_id) references inbound_messages (org_id, id) on delete cascade
);
-- Most attachments are compressed already.
alter table inbound_attachments alter column content set storage external;
