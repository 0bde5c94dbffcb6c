-- Clients of the tool protocol that act for a person on one org.

create table oauth_clients (
  id text primary key,
  name text not null,
  redirect_uris text[] not null,
  created_at timestamptz(3) not null,
  -- When a person last allowed or the client last used a grant. Null for a client that nobody has allowed anything.
  used_at timestamptz(3)
);
create index oauth_clients_unused on oauth_clients (created_at) where used_at is null;
create index oauth_clients_used on oauth_clients (used_at) where used_at is not null;

-- What a client asks of a signed-in person, until the person decides.
create table oauth_requests (
  user_id text not null references users (id) on delete cascade,
  id text not null,
  client_id text not null references oauth_clients (id) on delete cascade,
  redirect_uri text not null,
  state text,
  scopes text[] not null,
  code_challenge text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (user_id, id)
);
create index oauth_requests_client on oauth_requests (client_id);
create index oauth_requests_age on oauth_requests (expires_at);

-- One consent. Its code, its refresh token and its end are columns of one row, so that each change is one statement.
create table oauth_grants (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  client_id text not null references oauth_clients (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  scopes text[] not null,
  redirect_uri text not null,
  code_hash bytea not null,
  code_challenge text not null,
  code_expires_at timestamptz(3) not null,
  code_used_at timestamptz(3),
  -- Every refresh token of a grant begins with the same secret. It recognises one that was replaced.
  family_hash bytea,
  refresh_hash bytea,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3),
  -- When the code expires, or the refresh token that replaced it.
  expires_at timestamptz(3) not null,
  primary key (org_id, id),
  -- A membership that ends, in whichever way, ends what the member granted.
  foreign key (org_id, user_id) references memberships (org_id, user_id) on delete cascade
);
-- Both identify the org.
create unique index oauth_grants_code on oauth_grants (code_hash);
create unique index oauth_grants_family on oauth_grants (family_hash) where family_hash is not null;
create index oauth_grants_page on oauth_grants (org_id, created_at, id);
create index oauth_grants_member on oauth_grants (org_id, user_id, client_id, created_at);
create index oauth_grants_user on oauth_grants (user_id, created_at, id);
create index oauth_grants_client on oauth_grants (client_id);
create index oauth_grants_age on oauth_grants (expires_at);

create table oauth_access_tokens (
  hash bytea primary key,
  org_id text not null,
  grant_id text not null,
  scopes text[] not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  foreign key (org_id, grant_id) references oauth_grants (org_id, id) on delete cascade
);
create index oauth_access_tokens_grant on oauth_access_tokens (org_id, grant_id, created_at);
create index oauth_access_tokens_age on oauth_access_tokens (expires_at);
