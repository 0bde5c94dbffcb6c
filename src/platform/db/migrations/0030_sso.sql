-- Single sign-on: the connection of an org to its identity provider, its email domains, and what was used once.

create table sso_connections (
  org_id text primary key references orgs (id) on delete cascade,
  protocol text not null check (protocol in ('saml', 'oidc')),
  idp_entity_id text,
  idp_sso_url text,
  -- PEM. Two while the identity provider rolls its certificate over.
  idp_certificates text[] not null default '{}',
  oidc_issuer text,
  oidc_client_id text,
  -- Encrypted under the master key.
  oidc_client_secret text,
  default_role text not null check (default_role in ('developer', 'member', 'viewer')),
  jit_provisioning boolean not null,
  allow_idp_initiated boolean not null,
  -- Changes when another identity provider is configured. A sign-in counts as a test only of the one that it used.
  configuration text not null,
  tested_at timestamptz(3),
  last_login_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

-- Domains of people's addresses, proven by a TXT record. They belong to the org and outlive the connection.
create table org_email_domains (
  org_id text not null references orgs (id) on delete cascade,
  domain text not null check (domain = lower(domain)),
  token text not null,
  verified_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (org_id, domain)
);
-- Sign-in starts from an address, before the org is known.
create index org_email_domains_verified on org_email_domains (domain, verified_at) where verified_at is not null;

-- Hashes of SAML requests and assertions that were used. Kept until they would no longer be accepted anyway.
create table sso_used_ids (
  org_id text not null references orgs (id) on delete cascade,
  id_hash bytea not null,
  expires_at timestamptz(3) not null,
  primary key (org_id, id_hash)
);
create index sso_used_ids_expiry on sso_used_ids (expires_at);

-- Members who are not owners can use only sessions that the identity provider of the org opened.
alter table orgs add column sso_enforced boolean not null default false;
-- The org through whose identity provider the person signed in.
alter table sessions add column sso_org_id text;
