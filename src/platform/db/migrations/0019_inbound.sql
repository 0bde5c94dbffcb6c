-- Messages to one number, newest first.
create index inbound_messages_to on inbound_messages (org_id, (to_addresses[1]), created_at, id)
  where channel = 'sms';

-- The tenant that last sent to the recipient, so that its erasure removes the number from pools of the org too.
alter table pool_recipients add column tenant_id text;
create index pool_recipients_tenant on pool_recipients (org_id, tenant_id) where tenant_id is not null;
