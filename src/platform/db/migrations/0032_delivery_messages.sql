-- The message that a delivery is about. Deliveries of the previous release do not have it, and are not found by it.
alter table webhook_deliveries add column message_id text;
create index webhook_deliveries_message on webhook_deliveries (org_id, message_id, created_at desc, id desc)
  where message_id is not null;
