-- A busy process leases usage of an org in advance, and then counts each message in the statement that records it. A
-- lease reduces what others may use until it is returned. See docs/decisions/0020.
alter table usage_counters add column leased bigint not null default 0 check (leased >= 0);

create table usage_leases (
  org_id text not null references orgs (id) on delete cascade,
  id text not null,
  -- When the process is presumed dead.
  expires_at timestamptz(3) not null,
  -- The leased counters, in the order in which they are locked, and the amount of each.
  subjects text[] not null,
  environments text[] not null,
  measures text[] not null,
  periods text[] not null,
  amounts bigint[] not null,
  primary key (org_id, id)
);

-- Leases usage for up to `wanted` messages, each of which uses `amounts`. Every counter with a cap stays far below it: with
-- twenty times the lease added, below 80 percent of the cap, where the first alert is due. Returns for how many messages
-- usage was leased: 0 if for fewer than `fewest`.
create function lease_usage(
  org text, lease text, subjects text[], environments text[], measures text[], periods text[], amounts bigint[],
  caps bigint[], wanted bigint, fewest bigint, expiry timestamptz, out granted bigint
) language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
as $$
begin
  -- A message is acknowledged after its own commit, which also brings this one to the disk.
  perform set_config('synchronous_commit', 'off', true);
  insert into usage_counters (org_id, subject, environment, measure, period, used)
    select org, s, e, m, p, 0 from unnest(subjects, environments, measures, periods) as c (s, e, m, p)
    on conflict do nothing;
  with locked as materialized (
    select c.s, c.e, c.m, c.p, c.amount, c.cap,
      (c.cap * 80 / 100 - u.used - u.leased) / (c.amount * 20) as messages
    from unnest(subjects, environments, measures, periods, amounts, caps) with ordinality
      as c (s, e, m, p, amount, cap, n)
    join usage_counters u on u.org_id = org and u.subject = c.s and u.environment = c.e and u.measure = c.m
      and u.period = c.p
    order by c.n
    for update of u
  ), verdict as materialized (
    select case when fitting >= fewest then fitting else 0 end as messages
    from (select least(wanted, min(messages)) as fitting from locked) as all_of_them
  ), counted as (
    update usage_counters u set leased = u.leased + l.amount * v.messages
    from verdict v, locked l
    where v.messages > 0 and l.cap is not null
      and u.org_id = org and u.subject = l.s and u.environment = l.e and u.measure = l.m and u.period = l.p
  ), stored as (
    insert into usage_leases (org_id, id, expires_at, subjects, environments, measures, periods, amounts)
    select org, lease, expiry, subjects, environments, measures, periods,
      array(select case when l.cap is null then 0 else l.amount * v.messages end
        from unnest(amounts, caps) with ordinality as l (amount, cap, n) order by n)
    from verdict v where v.messages > 0
  )
  select messages into granted from verdict;
end $$;

-- What the record of messages does to usage: deletes their reservations, and adds what was drawn from leases.
create function settle_recorded(
  reserved_orgs text[], reserved_ids text[],
  orgs text[], subjects text[], environments text[], measures text[], periods text[], amounts bigint[]
) returns void language plpgsql
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
as $$
begin
  if cardinality(reserved_ids) > 0 then
    delete from usage_reservations u
      using unnest(reserved_orgs, reserved_ids) as c (org, id)
      where u.org_id = c.org and u.id = c.id;
  end if;
  if cardinality(orgs) > 0 then
    insert into usage_counters as u (org_id, subject, environment, measure, period, used)
      select o, s, e, m, p, amount
      from unnest(orgs, subjects, environments, measures, periods, amounts) with ordinality
        as c (o, s, e, m, p, amount, n)
      order by n
      on conflict (org_id, subject, environment, measure, period) do update set used = u.used + excluded.used;
  end if;
end $$;

-- As before, except that leases of others count as used.
create or replace function reserve_usage(
  orgs text[], subjects text[], environments text[], measures text[], periods text[],
  line_reservation int[], line_counter int[], amounts bigint[], caps bigint[],
  alert_kinds text[], alert_ids text[], channels text[], at timestamptz,
  out refused_lines int[]
) language plpgsql
  set plan_cache_mode = force_generic_plan
as $$
declare
  stands bigint[] := array_fill(0::bigint, array[cardinality(orgs)]);
  leases bigint[] := array_fill(0::bigint, array[cardinality(orgs)]);
  counter record;
  first_line int := 1;
  last_line int;
  line int;
  place int;
  stood bigint;
  refusal int;
  touched boolean[] := array_fill(false, array[cardinality(orgs)]);
begin
  -- A message is acknowledged after its own commit, which also brings this one to the disk.
  perform set_config('synchronous_commit', 'off', true);
  refused_lines := '{}';
  insert into usage_counters (org_id, subject, environment, measure, period, used)
    select o, s, e, m, p, 0 from unnest(orgs, subjects, environments, measures, periods) as c (o, s, e, m, p)
    on conflict do nothing;
  for counter in
    select c.n, u.used, u.leased
    from unnest(orgs, subjects, environments, measures, periods) with ordinality as c (o, s, e, m, p, n)
    join usage_counters u on u.org_id = c.o and u.subject = c.s and u.environment = c.e and u.measure = c.m
      and u.period = c.p
    order by c.n
    for update of u
  loop
    stands[counter.n] := counter.used;
    leases[counter.n] := counter.leased;
  end loop;

  while first_line <= cardinality(line_reservation) loop
    last_line := first_line;
    while last_line < cardinality(line_reservation)
      and line_reservation[last_line + 1] = line_reservation[first_line] loop
      last_line := last_line + 1;
    end loop;
    refusal := 0;
    for line in first_line .. last_line loop
      -- A line of amount 0 passes a cap that is reached already.
      if caps[line] is not null and amounts[line] > 0
        and stands[line_counter[line]] + leases[line_counter[line]] + amounts[line] > caps[line] then
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
