-- Covers the columns that the signature leaves out. Null in entries of earlier releases and without a signing secret.
alter table audit_entries add column seal text;

-- As before, and the erasure of a person keeps the seal.
create or replace function refuse_audit_change() returns trigger language plpgsql as $$
declare
  path text := current_setting('tidings.audit_path', true);
begin
  if tg_op = 'DELETE' and path = 'retention' then
    return old;
  end if;
  if tg_op = 'UPDATE' and path = 'erasure'
    and new.actor_user_id is null and old.actor_user_id is not null
    and (new.org_id, new.id, new.action, new.resource_type, new.resource_id, new.metadata, new.ip_address,
         new.user_agent, new.created_at, new.seal)
      is not distinct from
        (old.org_id, old.id, old.action, old.resource_type, old.resource_id, old.metadata, old.ip_address,
         old.user_agent, old.created_at, old.seal) then
    return new;
  end if;
  raise exception 'audit entries are append-only' using errcode = 'insufficient_privilege';
end $$;

-- Every org that has a chain, in one chain of its own. It reveals that the whole log of an org was deleted.
create table audit_register (
  seq bigint primary key,
  org_id text not null unique,
  digest bytea not null
);
create trigger audit_register_append_only before update or delete on audit_register
  for each row execute function refuse_link_change();
create trigger audit_register_no_truncate before truncate on audit_register
  for each statement execute function refuse_link_change();

-- The newest row of the register, signed. The table has at most one row.
create table audit_register_head (
  only_row boolean primary key default true check (only_row),
  seq bigint not null,
  digest bytea not null,
  signature text,
  updated_at timestamptz(3) not null
);
