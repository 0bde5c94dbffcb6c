-- The trace of the request that caused an event, so that the delivery of the event continues it. Null while tracing is
-- off, and in rows of the previous release.
alter table events add column traceparent text;
alter table webhook_deliveries add column traceparent text;
