-- Templates: what a message says, with places for variables.

create table templates (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  -- Null belongs to the org: every tenant may send with it.
  tenant_id text,
  slug text not null,
  channel text not null check (channel in ('email', 'sms')),
  subject text,
  html text,
  text text,
  created_environment text not null check (created_environment in ('live', 'test')),
  -- Grows with every change, so that id and version name one content for ever.
  version integer not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (org_id, id),
  constraint templates_slug unique nulls not distinct (org_id, slug, tenant_id)
);
create index templates_page on templates (org_id, created_at desc, id desc);
create index templates_tenant_page on templates (org_id, tenant_id, created_at desc, id desc);

-- Every process drops its copies of the org when it hears of a change.
create trigger templates_announce after insert or update or delete on templates
  for each row execute function announce_caller_change();
