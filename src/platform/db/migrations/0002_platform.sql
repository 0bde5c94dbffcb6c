-- The platform: who did what, what happened, how much was used.

-- Audit entries are only ever added. Two paths may touch what is there: the erasure of a person, which clears
-- the actor, and retention, which removes whole rows. Whoever takes one says so in the transaction.
create table audit_entries (
  org_id text not null,
  id text not null,
  actor_user_id text,
  action text not null,
  resource_type text,
  resource_id text,
  metadata jsonb,
  ip_address text,
  user_agent text not null default '',
  created_at timestamptz(3) not null,
  signature text,
  primary key (org_id, id)
);
create index audit_entries_page on audit_entries (org_id, created_at desc, id desc);
create index audit_entries_actor on audit_entries (actor_user_id, org_id, id) where actor_user_id is not null;
create index audit_entries_age on audit_entries (created_at);

-- Entries not yet linked into their org's chain. Linking happens after the fact, so that writers of one org never
-- wait for each other.
create table audit_unlinked (
  org_id text not null,
  created_at timestamptz(3) not null,
  entry_id text not null,
  primary key (org_id, created_at, entry_id)
);

-- The chain: each link holds a digest over the one before, so a removed or reordered entry leaves a mark.
create table audit_links (
  org_id text not null,
  seq bigint not null,
  entry_id text not null,
  digest bytea not null,
  primary key (org_id, seq),
  unique (org_id, entry_id)
);

-- Both ends of a chain, signed: the last link, so that a cut-off end shows, and the last one that retention removed.
create table audit_chains (
  org_id text primary key,
  head_seq bigint not null,
  head_digest bytea not null,
  head_signature text,
  pruned_seq bigint not null default 0,
  pruned_digest bytea,
  pruned_signature text,
  updated_at timestamptz(3) not null
);

create function refuse_audit_change() returns trigger language plpgsql as $$
declare
  path text := current_setting('tidings.audit_path', true);
begin
  if tg_op = 'DELETE' and path = 'retention' then
    return old;
  end if;
  if tg_op = 'UPDATE' and path = 'erasure'
    and new.actor_user_id is null and old.actor_user_id is not null
    and (new.org_id, new.id, new.action, new.resource_type, new.resource_id, new.metadata, new.ip_address,
         new.user_agent, new.created_at)
      is not distinct from
        (old.org_id, old.id, old.action, old.resource_type, old.resource_id, old.metadata, old.ip_address,
         old.user_agent, old.created_at) then
    return new;
  end if;
  raise exception 'audit entries are append-only' using errcode = 'insufficient_privilege';
end $$;

create trigger audit_entries_append_only before update or delete on audit_entries
  for each row execute function refuse_audit_change();
create trigger audit_entries_no_truncate before truncate on audit_entries
  for each statement execute function refuse_audit_change();

create function refuse_link_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('tidings.audit_path', true) = 'retention' then
    return old;
  end if;
  raise exception 'the audit chain is append-only' using errcode = 'insufficient_privilege';
end $$;

create trigger audit_links_append_only before update or delete on audit_links
  for each row execute function refuse_link_change();
create trigger audit_links_no_truncate before truncate on audit_links
  for each statement execute function refuse_link_change();

-- Events wait here, written in the transaction of the change they tell of, until they are fanned out.
create table events (
  org_id text not null,
  id text not null,
  tenant_id text,
  -- Null on events with no send behind them.
  environment text check (environment in ('live', 'test')),
  event text not null,
  data jsonb not null,
  created_at timestamptz(3) not null,
  primary key (org_id, id)
);
create index events_waiting on events (created_at, id);

-- What a caller may still spend. One row per counter; a reservation spends several or none.
create table usage_counters (
  org_id text not null references orgs (id) on delete cascade,
  -- Who counts: the org, one tenant, one key or one domain.
  subject text not null,
  -- `live` or `test`.
  environment text not null,
  -- What is counted: email, sms, segments, spend, messages (test allowance), sandbox, warmup.
  measure text not null,
  -- A UTC month (2026-03) or day (2026-03-05).
  period text not null,
  used bigint not null check (used >= 0),
  primary key (org_id, subject, environment, measure, period)
);

create table usage_alerts (
  org_id text not null references orgs (id) on delete cascade,
  period text not null,
  channel text not null,
  kind text not null,
  threshold integer not null,
  created_at timestamptz(3) not null,
  primary key (org_id, period, channel, kind, threshold)
);

alter table orgs add column spend_cap_micros bigint check (spend_cap_micros >= 0);

-- The pace of key creation counts keys made by people and programs, not those an operator handed out.
alter table api_keys add column origin text not null default 'operator' check (origin in ('api', 'dashboard', 'operator'));

alter table tenants add column email_monthly bigint check (email_monthly between 0 and 1000000000);
alter table tenants add column sms_monthly bigint check (sms_monthly between 0 and 1000000000);
alter table tenants add column erasure jsonb;
create index tenants_page on tenants (org_id, created_at desc, id desc);
create index projects_page on projects (org_id, created_at desc, id desc);
create index api_keys_creation on api_keys (org_id, created_at desc);

-- Tells of the thresholds that a spend took a figure across, from below to it or above; 80 before 100. Only the
-- first crossing in a period finds the place of its alert free, whatever was given back meanwhile.
create function announce_usage(
  org text, month text, sent_by text, alert_kind text, stood bigint, stands bigint, cap bigint, ids text[],
  at timestamptz
) returns void language plpgsql as $$
declare
  thresholds constant int[] := '{80, 100}';
begin
  for i in 1 .. 2 loop
    continue when stood * 100 >= cap * thresholds[i] or stands * 100 < cap * thresholds[i];
    insert into usage_alerts (org_id, period, channel, kind, threshold, created_at)
      values (org, month, sent_by, alert_kind, thresholds[i], at)
      on conflict do nothing;
    continue when not found;
    insert into events (org_id, id, tenant_id, environment, event, data, created_at)
      values (org, ids[i], null, null, 'usage.alert', jsonb_build_object(
        'channel', sent_by, 'period', month, 'threshold', thresholds[i], 'kind', alert_kind,
        -- Money is told in USD, as people read it.
        'used', case alert_kind when 'spend_cap' then round(stands / 1000000.0, 2) else stands end,
        'limit', case alert_kind when 'spend_cap' then round(cap / 1000000.0, 2) else cap end), at);
  end loop;
end $$;

-- Judges reservations in the order given and spends those that fit, each on all its counters or on none.
-- The counters are distinct and sorted, so that two calls lock them in the same order. `refused_lines` holds, per
-- reservation, the number of the line that refused it (0: accepted).
-- The alert of a threshold is written here, with the spend that crossed it: none is lost to a crash in between.
-- `alert_kinds` and, two each, `alert_ids` go with the counters (a counter crosses a threshold once in a call),
-- `channels` with the reservations.
create function reserve_usage(
  orgs text[], subjects text[], environments text[], measures text[], periods text[],
  line_reservation int[], line_counter int[], amounts bigint[], caps bigint[],
  alert_kinds text[], alert_ids text[], channels text[], at timestamptz,
  out refused_lines int[]
) language plpgsql as $$
declare
  stands bigint[] := array_fill(0::bigint, array[cardinality(orgs)]);
  counter record;
  first_line int := 1;
  last_line int;
  line int;
  place int;
  stood bigint;
  refusal int;
  touched boolean[] := array_fill(false, array[cardinality(orgs)]);
begin
  -- Nothing is told to anybody before the record of what was sent, and its commit brings this one to the disk with it:
  -- the log is written in order. So no sender waits for the disk twice.
  perform set_config('synchronous_commit', 'off', true);
  refused_lines := '{}';
  insert into usage_counters (org_id, subject, environment, measure, period, used)
    select o, s, e, m, p, 0 from unnest(orgs, subjects, environments, measures, periods) as c (o, s, e, m, p)
    on conflict do nothing;
  for counter in
    select c.n, u.used
    from unnest(orgs, subjects, environments, measures, periods) with ordinality as c (o, s, e, m, p, n)
    join usage_counters u on u.org_id = c.o and u.subject = c.s and u.environment = c.e and u.measure = c.m
      and u.period = c.p
    order by c.n
    for update of u
  loop
    stands[counter.n] := counter.used;
  end loop;

  while first_line <= cardinality(line_reservation) loop
    last_line := first_line;
    while last_line < cardinality(line_reservation)
      and line_reservation[last_line + 1] = line_reservation[first_line] loop
      last_line := last_line + 1;
    end loop;
    refusal := 0;
    for line in first_line .. last_line loop
      -- What costs nothing passes a cap that is reached already.
      if caps[line] is not null and amounts[line] > 0
        and stands[line_counter[line]] + amounts[line] > caps[line] then
        refusal := line - first_line + 1;
        exit;
      end if;
    end loop;
    refused_lines := refused_lines || refusal;
    if refusal = 0 then
      for line in first_line .. last_line loop
        place := line_counter[line];
        stood := stands[place];
        stands[place] := stood + amounts[line];
        touched[place] := true;
        if alert_kinds[place] is not null and caps[line] > 0 and stands[place] * 100 >= caps[line] * 80 then
          perform announce_usage(orgs[place], periods[place], channels[cardinality(refused_lines)],
            alert_kinds[place], stood, stands[place], caps[line], alert_ids[place * 2 - 1 : place * 2], at);
        end if;
      end loop;
    end if;
    first_line := last_line + 1;
  end loop;

  update usage_counters u set used = c.v
    from unnest(orgs, subjects, environments, measures, periods, stands, touched) as c (o, s, e, m, p, v, t)
    where c.t and u.org_id = c.o and u.subject = c.s and u.environment = c.e and u.measure = c.m and u.period = c.p;
end $$;

-- Quotas are part of what processes keep short copies of.
drop trigger orgs_announce on orgs;
create trigger orgs_announce
  after update of plan, rate_limit_per_minute, suspended_at, email_monthly, sms_monthly, spend_cap_micros or delete on orgs
  for each row execute function announce_caller_change();
drop trigger tenants_announce on tenants;
create trigger tenants_announce
  after insert or update of status, external_ref, email_monthly, sms_monthly or delete on tenants
  for each row execute function announce_caller_change();
