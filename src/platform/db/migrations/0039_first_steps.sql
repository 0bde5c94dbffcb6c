-- The first steps that an org has done and that its rows no longer show, such as an endpoint that was removed. The previous
-- release adds none, so a step is also done while its row exists.
alter table orgs add column first_steps text[] not null default '{}';
