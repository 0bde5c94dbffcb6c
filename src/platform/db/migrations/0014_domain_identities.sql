-- Whether a provider that needs to know its domains has this one: created by us, or adopted because it was there before.
-- Null on rows that no provider has been asked about.
alter table domains add column identity text check (identity in ('created', 'adopted'));
