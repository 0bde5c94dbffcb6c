-- One name in many orgs: each row under a selector that no other row of the name has, found without reading them all.
create index domains_selector on domains (name, dkim_selector);

-- Who made a domain decides whether live mail leaves from it, and a pool is known to the provider by its name: both
-- are told to the processes that keep short copies.
drop trigger domains_announce_change on domains;
create trigger domains_announce_change after update on domains
  for each row when (
    (old.status, old.tenant_id, old.project_id, old.region, old.return_path, old.ip_pool_id, old.dkim_selector,
      old.dkim_private_key, old.warmup_days, old.warmup_started_at, old.created_environment)
    is distinct from
    (new.status, new.tenant_id, new.project_id, new.region, new.return_path, new.ip_pool_id, new.dkim_selector,
      new.dkim_private_key, new.warmup_days, new.warmup_started_at, new.created_environment))
  execute function announce_caller_change();
drop trigger ip_pools_announce on ip_pools;
create trigger ip_pools_announce after update of paused, name on ip_pools
  for each row when ((old.paused, old.name) is distinct from (new.paused, new.name))
  execute function announce_caller_change();

-- What the provider knows a pool by, where another pool of the region came first with its name; null: the name itself.
alter table ip_pools add column provider_name text;
update ip_pools i set provider_name = i.name || '-' || i.id
where exists (
  select 1 from ip_pools o
  where o.region = i.region and o.name = i.name and (o.created_at, o.id) < (i.created_at, i.id));
create index ip_pools_provider_name on ip_pools (region, coalesce(provider_name, name));
