-- Accounts: session policies, second factors, codes, login challenges and sign-in providers.

-- Null imposes nothing. A member of several orgs gets the smallest value of all.
alter table orgs add column max_session_age_hours integer check (max_session_age_hours between 1 and 720);
alter table orgs add column max_sessions_per_user integer check (max_sessions_per_user between 1 and 50);

alter table users add column phone text;
alter table users add column phone_verified_at timestamptz(3);
-- Encrypted under the master key. The pending secret becomes the secret once a code proves that it was stored.
alter table users add column totp_secret text;
alter table users add column totp_pending_secret text;
alter table users add column totp_enabled_at timestamptz(3);
-- The newest time step whose code was used. Older ones are refused.
alter table users add column totp_last_step bigint;
-- What a registration asked for and verification carries out: the org to create, or the invitation to accept.
alter table users add column pending_org_name text;
alter table users add column pending_invite_hash bytea;

create table backup_codes (
  user_id text not null references users (id) on delete cascade,
  code_hash bytea not null,
  used_at timestamptz(3),
  created_at timestamptz(3) not null,
  primary key (user_id, code_hash)
);

-- The one code in force for a user's email address and the one for their phone number.
create table account_codes (
  user_id text not null references users (id) on delete cascade,
  channel text not null check (channel in ('email', 'phone')),
  destination text not null,
  code_hash bytea not null,
  tries integer not null default 0,
  -- The pending cookie of the browser that registered. Verification signs in only there.
  browser_hash bytea,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (user_id, channel)
);

create table login_challenges (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  method text not null,
  step text not null check (step in ('code', '2fa')),
  -- Null in step 2fa.
  code_hash bytea,
  tries integer not null default 0,
  redirect_to text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3)
);
create index login_challenges_user on login_challenges (user_id);

create table password_resets (
  token_hash bytea primary key,
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index password_resets_user on password_resets (user_id);

-- Accounts at sign-in providers. The issuer is the provider's URL.
create table sign_in_identities (
  issuer text not null,
  subject text not null,
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz(3) not null,
  primary key (issuer, subject)
);
create index sign_in_identities_user on sign_in_identities (user_id);

-- Counts of sign-in attempts while the store of the rate limiter is unreachable.
create table sign_in_attempts (
  bucket text not null,
  at timestamptz(3) not null,
  id text not null,
  primary key (bucket, at, id)
);
