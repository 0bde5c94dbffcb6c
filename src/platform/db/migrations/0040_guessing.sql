-- The network that registered a client, as a hash, until its first use. Null in rows of the previous release.
alter table oauth_clients add column source text;

-- When a password of an account was guessed in the last hour. Rows of addresses without an account look the same.
create table password_guesses (
  -- A hash of the address, or of a known device or the sessions of an account.
  subject text primary key,
  guessed_at timestamptz(3)[] not null,
  updated_at timestamptz(3) not null,
  -- When the owner was last mailed a link that unlocks sign-in. Null once that link was used.
  mailed_at timestamptz(3)
);
create index password_guesses_age on password_guesses (updated_at);

-- Links that make a browser known to an account, so that it can sign in while the password is guessed elsewhere.
create table account_unlocks (
  token_hash bytea primary key,
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index account_unlocks_user on account_unlocks (user_id);
create index account_unlocks_age on account_unlocks (expires_at);
