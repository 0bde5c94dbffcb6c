-- Paid plans, the mails about the spend cap, and who set the countries of text messages.

-- The org at the payment provider, and the card that it pays with.
create table billing_customers (
  org_id text not null references orgs (id) on delete cascade,
  provider text not null,
  customer_id text not null,
  card_brand text,
  card_last4 text,
  -- The event that the card is from. An older event does not replace it.
  card_event_at timestamptz(3),
  updated_at timestamptz(3) not null,
  primary key (org_id, provider)
);
-- An event about a customer does not name the org.
create index billing_customers_customer on billing_customers (provider, customer_id);

create table billing_subscriptions (
  org_id text not null references orgs (id) on delete cascade,
  provider text not null,
  id text not null,
  plan text not null check (plan in ('payg', 'pro', 'enterprise')),
  status text not null check (status in ('pending', 'active', 'past_due', 'unpaid', 'canceled')),
  period_ends_at timestamptz(3),
  -- From then on it no longer pays for the plan. Null: it goes on.
  ends_at timestamptz(3),
  -- When the plan was taken away.
  ended_at timestamptz(3),
  -- The newest event. Events of one second are ordered by rank.
  event_at timestamptz(3) not null,
  event_rank integer not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, provider, id)
);
create index billing_subscriptions_ending on billing_subscriptions (ends_at)
  where ends_at is not null and ended_at is null;

-- Events that were processed, so that a repeated one changes nothing.
create table billing_events (
  org_id text not null references orgs (id) on delete cascade,
  provider text not null,
  id text not null,
  type text not null,
  event_at timestamptz(3) not null,
  received_at timestamptz(3) not null,
  primary key (org_id, provider, id)
);
create index billing_events_age on billing_events (received_at);

-- One row for each owner, month and threshold. A mail that failed is claimed again.
create table spend_alert_mails (
  org_id text not null references orgs (id) on delete cascade,
  period text not null,
  threshold integer not null,
  user_id text not null references users (id) on delete cascade,
  attempts integer not null,
  claimed_until timestamptz(3) not null,
  sent_at timestamptz(3),
  primary key (org_id, period, threshold, user_id)
);
create index spend_alert_mails_user on spend_alert_mails (user_id);
create index usage_alerts_spend on usage_alerts (created_at) where kind = 'spend_cap';

alter table orgs add column sms_geo_updated_at timestamptz(3);
alter table orgs add column sms_geo_updated_by text references users (id) on delete set null;
create index orgs_sms_geo_updater on orgs (sms_geo_updated_by) where sms_geo_updated_by is not null;
