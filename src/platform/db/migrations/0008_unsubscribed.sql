-- That a recipient unsubscribed, kept beside whatever reason the row has: when a bounce or a manual suppression over it
-- is removed, the unsubscribe is still there. Also filled where it is the reason.
alter table suppressions
  add column unsubscribed_at timestamptz(3),
  add column unsubscribe_source text,
  add column unsubscribe_message_id text,
  add constraint suppressions_unsubscribed check ((unsubscribed_at is null) = (unsubscribe_source is null));

update suppressions
set unsubscribed_at = updated_at, unsubscribe_source = source, unsubscribe_message_id = message_id
where reason = 'unsubscribe';
