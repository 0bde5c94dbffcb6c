-- The secret that the current one replaced, sealed like it. Deliveries are signed with both until the time has passed.
alter table webhook_endpoints
  add column previous_secret text,
  add column previous_secret_until timestamptz(3);
create index webhook_endpoints_previous_secret on webhook_endpoints (previous_secret_until)
  where previous_secret is not null;
