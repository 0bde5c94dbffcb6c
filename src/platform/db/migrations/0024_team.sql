-- Invitations, the deletion of orgs, and the indexes that the audit list reads.

create table invitations (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  email text not null check (email = lower(email)),
  role text not null check (role in ('owner', 'developer', 'member', 'viewer')),
  -- SHA-256 of the token. The token itself is only in the mail.
  token_hash bytea not null,
  invited_by text references users (id) on delete set null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  -- Accepted, declined or revoked. The link no longer works.
  ended_at timestamptz(3),
  primary key (org_id, id)
);
-- The token identifies the org.
create unique index invitations_token on invitations (token_hash);
create unique index invitations_open on invitations (org_id, email) where ended_at is null;
create index invitations_page on invitations (org_id, created_at, id);
create index invitations_email on invitations (email);
create index invitations_inviter on invitations (invited_by) where invited_by is not null;
create index invitations_age on invitations (expires_at);

-- How the membership began: `created`, `invitation`, `sso` or `scim`.
alter table memberships add column source text not null default 'created';
create index memberships_page on memberships (org_id, created_at, id);

-- Set when nobody can use the org any more and its rows are being deleted.
alter table orgs add column deleted_at timestamptz(3);
create index orgs_deleted on orgs (deleted_at) where deleted_at is not null;
create index orgs_owner_user on orgs (owner_user_id) where owner_user_id is not null;

create index audit_entries_page on audit_entries (org_id, created_at, id);
create index audit_entries_actor_page on audit_entries (org_id, actor_user_id, created_at, id)
  where actor_user_id is not null;
-- Sends write most of the entries and pay for each index, so these leave them out.
create index audit_entries_action_page on audit_entries (org_id, action, created_at, id)
  where action <> 'message.sent';
create index audit_entries_type_page on audit_entries (org_id, resource_type, created_at, id)
  where action <> 'message.sent';
create index audit_entries_resource_page on audit_entries (org_id, resource_id, created_at, id)
  where action <> 'message.sent';
