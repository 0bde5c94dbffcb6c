-- Usage that is reserved for messages without a final state. A reservation is inserted with the counters and deleted
-- with the record of its message. One that is left behind belongs to a process that died.
create table usage_reservations (
  org_id text not null,
  -- The message, or the batch that reserved for all its messages.
  id text not null,
  -- The scheduler's claim. Null for a message that is sent at once.
  claim text,
  reserved_at timestamptz(3) not null,
  -- When the process is presumed dead.
  expires_at timestamptz(3) not null,
  -- What was reserved, by message.
  parts jsonb not null,
  primary key (org_id, id)
);

-- Makes reservations, unless a recipient is suppressed or a message has a reservation already. In both cases nothing is
-- counted, and the caller decides the other reservations with a second call.
-- `blocked` holds the numbers of the suppressed recipients. `held` holds the reservations that exist; the claims of the
-- call take them over. `refused_lines` is the result of reserve_usage.
create function reserve_sends(
  recipient_orgs text[], recipient_tenants text[], recipient_channels text[], recipients text[], broadcasts boolean[],
  held_orgs text[], held_ids text[], held_claims text[], held_at timestamptz[], held_parts jsonb[],
  held_reservations int[], expiry timestamptz,
  orgs text[], subjects text[], environments text[], measures text[], periods text[],
  line_reservation int[], line_counter int[], amounts bigint[], caps bigint[],
  alert_kinds text[], alert_ids text[], channels text[], at timestamptz,
  out blocked int[], out held jsonb, out refused_lines int[]
) language plpgsql
  -- Planned once, and for tables of any size: these tables are small when the plan is made and may grow.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
as $$
begin
  if cardinality(recipients) > 0 then
    select array_agg(r.n) into blocked
      from unnest(recipient_orgs, recipient_tenants, recipient_channels, recipients, broadcasts)
        with ordinality as r (org, tenant, channel, value, broadcast, n)
      join suppressions s on s.org_id = r.org and s.channel = r.channel and s.value = r.value
        and (s.tenant_id is null or s.tenant_id = r.tenant)
        and (r.broadcast or s.reason <> 'unsubscribe');
    if blocked is not null then
      return;
    end if;
  end if;

  if array_remove(held_claims, null) <> '{}' then
    with taken as (
      update usage_reservations u set claim = h.claim, expires_at = expiry
        from unnest(held_orgs, held_ids, held_claims) with ordinality as h (org, id, claim, n)
        where h.claim is not null and u.org_id = h.org and u.id = h.id
        returning h.n, u.reserved_at, u.parts
    )
    select jsonb_agg(jsonb_build_object('n', n, 'at', reserved_at, 'parts', parts)) into held from taken;
    if held is not null then
      return;
    end if;
  end if;

  refused_lines := reserve_usage(orgs, subjects, environments, measures, periods, line_reservation, line_counter,
    amounts, caps, alert_kinds, alert_ids, channels, at);

  if cardinality(held_ids) > 0 then
    insert into usage_reservations (org_id, id, claim, reserved_at, expires_at, parts)
      select org, id, claim, made_at, expiry, parts
      from unnest(held_orgs, held_ids, held_claims, held_at, held_parts, held_reservations)
        as h (org, id, claim, made_at, parts, reservation)
      where refused_lines[reservation + 1] = 0;
  end if;
end $$;

-- Deletes the reservations of messages that have their final state. Their usage stays counted.
create function close_reservations(orgs text[], ids text[]) returns void language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
as $$
begin
  delete from usage_reservations u
    using unnest(orgs, ids) as c (org, id)
    where u.org_id = c.org and u.id = c.id;
end $$;
