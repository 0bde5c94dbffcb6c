-- The directory of an org (SCIM): its tokens, what it says about people and groups, and the roles that groups give.

create table scim_tokens (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  name text not null,
  -- SHA-256 of the token. The token itself is shown once.
  token_hash bytea not null,
  created_by text references users (id) on delete set null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  primary key (org_id, id)
);
-- The token identifies the org.
create unique index scim_tokens_hash on scim_tokens (token_hash);
create index scim_tokens_creator on scim_tokens (created_by) where created_by is not null;

-- What the directory says about a person. The id is that of the membership, and stays when the membership ends: the
-- person is active while they have a membership.
create table scim_users (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  user_id text not null references users (id) on delete cascade,
  user_name text not null,
  -- In lower case. Names are compared without regard to case.
  user_key text not null,
  external_id text,
  given_name text,
  family_name text,
  display_name text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, user_id),
  unique (org_id, user_key)
);
create index scim_users_person on scim_users (user_id);
create index scim_users_external on scim_users (org_id, external_id) where external_id is not null;

create table scim_groups (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  display_name text not null,
  display_key text not null,
  external_id text,
  -- Raised by every change of the group and of its members.
  version integer not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, display_key)
);

create table scim_group_members (
  org_id text not null,
  group_id text not null,
  member_id text not null,
  primary key (org_id, group_id, member_id),
  foreign key (org_id, group_id) references scim_groups (org_id, id) on delete cascade,
  foreign key (org_id, member_id) references scim_users (org_id, id) on delete cascade
);
create index scim_group_members_member on scim_group_members (org_id, member_id);

-- An org without a row here has the default mapping.
create table scim_mappings (
  org_id text primary key references orgs (id) on delete cascade,
  default_role text not null check (default_role in ('developer', 'member', 'viewer')),
  updated_at timestamptz(3) not null
);

-- No group can give the role of an owner.
create table scim_group_roles (
  org_id text not null references orgs (id) on delete cascade,
  display_key text not null,
  display_name text not null,
  role text not null check (role in ('developer', 'member', 'viewer')),
  position integer not null,
  primary key (org_id, display_key)
);
