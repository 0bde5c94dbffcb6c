-- A hash of the restrictions of the API key that made the request, empty for a key without any. Null in rows of earlier
-- releases, which replay a response to every key of the tenant and environment.
alter table idempotency_keys add column bindings bytea;
