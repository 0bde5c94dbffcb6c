-- How many opens and clicks of a message were counted in the hour that began at started_at. The counter may exceed the
-- limit by the hits of the statement that reached it.
create table tracking_windows (
  org_id text not null,
  message_id text not null,
  started_at timestamptz(3) not null,
  hits integer not null,
  primary key (org_id, message_id)
) with (fillfactor = 70);
create index tracking_windows_age on tracking_windows (started_at);
