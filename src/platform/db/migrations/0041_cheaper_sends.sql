-- What a send costs the database, made smaller.

-- Adds numbers of events to the days. Each place in the arrays is a group of events of the same kind, whose messages
-- have the same environment, tenant, project, channel, day, job and variant. Rows are locked in the order of their key.
create function add_figures(
  orgs text[], environments text[], tenants text[], projects text[], channels text[], days date[], jobs text[],
  variants text[], kinds text[], amounts bigint[]
) returns void language plpgsql
  set plan_cache_mode = force_generic_plan
as $$
begin
  if orgs is null then
    return;
  end if;
  insert into analytics_days as d
    (org_id, environment, tenant_id, part, day, job_id, variant, project_id,
     sent, delivered, bounced, failed, complained, opened, clicked, unsubscribed)
  select g.org, g.environment, t.tenant_id, p.part, g.day, p.job_id, p.variant, g.project,
    coalesce(sum(amount) filter (where kind = 'sent'), 0),
    coalesce(sum(amount) filter (where kind = 'delivered'), 0),
    coalesce(sum(amount) filter (where kind = 'bounced'), 0),
    coalesce(sum(amount) filter (where kind = 'failed'), 0),
    coalesce(sum(amount) filter (where kind = 'complained'), 0),
    coalesce(sum(amount) filter (where kind = 'opened'), 0),
    coalesce(sum(amount) filter (where kind = 'clicked'), 0),
    coalesce(sum(amount) filter (where kind = 'unsubscribed'), 0)
  from unnest(orgs, environments, tenants, projects, channels, days, jobs, variants, kinds, amounts)
    as g (org, environment, tenant, project, channel, day, job, variant, kind, amount)
  cross join lateral (
    select '' as tenant_id union all select g.tenant where g.tenant is not null
  ) t
  cross join lateral (
    select of_day.part, '' as job_id, '' as variant
    from (select case when g.job is null then 'other' else 'jobs' end as total) of_either,
      unnest(array[total, total || '_' || g.channel]) as of_day (part)
    union all select 'job', g.job, coalesce(g.variant, '') where g.job is not null
  ) p
  where exists (select from orgs o where o.id = g.org)
  group by 1, 2, 3, 4, 5, 6, 7, 8
  order by 1, 2, 3, 4, 5, 6, 7, 8
  on conflict (org_id, environment, tenant_id, part, day, job_id, variant, project_id) do update set
    sent = d.sent + excluded.sent, delivered = d.delivered + excluded.delivered,
    bounced = d.bounced + excluded.bounced, failed = d.failed + excluded.failed,
    complained = d.complained + excluded.complained, opened = d.opened + excluded.opened,
    clicked = d.clicked + excluded.clicked, unsubscribed = d.unsubscribed + excluded.unsubscribed;
end $$;

-- Set if the event is inserted together with its message, which belongs to this project and to no job and counts on the
-- day of the event. Analytics then need not look for the message. Null in rows of the previous release.
alter table events add column project_id text;

-- Messages of orgs without a webhook endpoint, counted together: nobody receives their events, so none is written. The
-- worker adds the rows to analytics_days.
create table analytics_counts (
  org_id text not null,
  -- The id that the event of the first of these messages would have.
  id text not null,
  environment text not null,
  tenant_id text,
  project_id text not null,
  channel text not null,
  day date not null,
  kind text not null,
  amount bigint not null,
  primary key (org_id, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- As before, except that most events are added to the days at once, so they need no row in the queue. What can happen
-- several times and counts once still waits there, and so does a report about a message that is being sent.
create or replace function queue_for_analytics() returns trigger language plpgsql
  set plan_cache_mode = force_generic_plan
as $$
declare
  added text;
begin
  -- Workers look for events ten times a second.
  if not exists (select from gone) then
    return null;
  end if;
  if exists (select from gone where event in ('message.complained', 'message.opened', 'message.clicked',
      'message.unsubscribed')) then
    insert into analytics_queue (org_id, id, message_id, kind, at)
    select org_id, id, data ->> 'message_id', substr(event, 9), created_at
    from gone
    where event in ('message.complained', 'message.opened', 'message.clicked', 'message.unsubscribed')
      and data ->> 'message_id' is not null;
  end if;
  with known as materialized (
    select h.org_id, h.id, h.message_id, h.kind, h.at, m.environment, m.tenant_id, m.project_id, m.channel, m.job_id,
      case when m.job_id is not null then m.metadata ->> 'subject_variant' end as variant,
      (coalesce(m.sent_at, h.at) at time zone 'UTC')::date as day,
      m.sent_at is not null or m.claim is null as countable
    from (
      select org_id, id, data ->> 'message_id' as message_id, substr(event, 9) as kind, created_at as at
      from gone
      where project_id is null and event like 'message.%' and event not in ('message.complained', 'message.opened',
        'message.clicked', 'message.unsubscribed')
    ) h cross join lateral (
      -- The limit makes the planner find each message by its primary key.
      select environment, tenant_id, project_id, channel, job_id, metadata, sent_at, claim
      from messages
      where org_id = h.org_id and id = h.message_id and created_at = time_of_id(h.message_id)
      limit 1
    ) m
  ), waiting as (
    insert into analytics_queue (org_id, id, message_id, kind, at)
    select org_id, id, message_id, kind, at from known where not countable
  ), groups as (
    select org_id, environment, tenant_id, project_id, channel, day, job_id, variant, kind, count(*) as amount
    from known
    where countable
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9
    union all
    select org_id, environment, tenant_id, project_id, data ->> 'channel', (created_at at time zone 'UTC')::date, null,
      null, substr(event, 9), count(*)
    from gone
    where project_id is not null
    group by 1, 2, 3, 4, 5, 6, 9
  )
  select add_figures(array_agg(org_id), array_agg(environment), array_agg(tenant_id), array_agg(project_id),
    array_agg(channel), array_agg(day), array_agg(job_id), array_agg(variant), array_agg(kind), array_agg(amount))::text
  into added from groups;
  return null;
end $$;

-- For each entry, in the given order: whether it is there, and whether it is linked. Planned for tables of any size: they
-- are small when the plan is made and grow.
create function state_of_entries(orgs text[], ids text[]) returns table (present boolean, linked boolean)
  language plpgsql stable
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
begin
  -- With a limit, each row is found by its key. `exists` may read the whole table instead, and `e.id = w.id` all entries
  -- of the org through audit_entries_page, which does not have the order of the ids.
  return query
    select (select true from audit_entries e where e.org_id = w.org_id and e.id >= w.id and e.id <= w.id
        order by e.id limit 1) is not null,
      (select true from audit_links l where l.org_id = w.org_id and l.entry_id = w.id limit 1) is not null
    from unnest(orgs, ids) with ordinality as w (org_id, id, place)
    order by w.place;
end $$;
