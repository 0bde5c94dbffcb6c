-- A session that the identity provider of an org opened is good for that org only, until the person proves their own
-- factors in it.

-- When that happened. Null for a session that was opened with the own factors: it has no `sso_org_id`.
alter table sessions add column stepped_up_at timestamptz(3);
-- The session that the challenge steps up. Null for a challenge that opens a session.
alter table login_challenges add column session_id text;

-- An owner lets the member use the org without its identity provider.
alter table memberships add column sso_exempt boolean not null default false;
alter table invitations add column sso_exempt boolean not null default false;
-- The last sign-in of the member through the identity provider of the org. Null if a process of an earlier release
-- opened the session.
alter table memberships add column sso_signed_in_at timestamptz(3);
-- Null also if the org began to enforce single sign-on under an earlier release.
alter table orgs add column sso_enforced_at timestamptz(3);
