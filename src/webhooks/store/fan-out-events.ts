import { statement } from '../../platform/db/statement.ts'

/**
 * Deletes the oldest events from the outbox and inserts a delivery for each endpoint that subscribes to them. It is one
 * statement, so that a crash leaves either the event or its deliveries, never both and never neither. An endpoint does
 * not receive the event about its own disabling. A delivery id consists of the time of the event id, a version digit
 * and random digits.
 *
 * Every queue that gets a delivery is locked, even if it is due already: otherwise a worker could lease it, miss the
 * delivery, which is not committed, and release it as empty before the commit.
 */
export const fanOutEvents = statement<
  { at: Date; limit: number; maxAttempts: number },
  { events: number; deliveries: number }
>(
  'webhooks.fan_out',
  `with deleted as (
     delete from events where (created_at, id) in (
       select created_at, id from events order by created_at, id limit :limit for update skip locked)
     returning org_id, id, tenant_id, environment, event, data, created_at, traceparent
   ), matched as materialized (
     select e.org_id, e.id, e.tenant_id, e.environment, e.event, e.data, e.created_at, e.traceparent,
       w.id as endpoint_id, replace(gen_random_uuid()::text, '-', '') as random
     from deleted e join webhook_endpoints w on w.org_id = e.org_id and w.enabled
       and (e.event = any(w.events) or '*' = any(w.events))
       and (w.tenant_id is null or w.tenant_id = e.tenant_id)
       and not (e.event = 'webhook.disabled' and e.data ->> 'id' = w.id)
   ), identified as (
     select org_id, endpoint_id, tenant_id, environment, event, data, created_at, traceparent,
       'whd_' || substr(id, 5, 10) || 'e' || substr(random, 1, 2) || substr(random, 17, 13) as delivery_id
     from matched
   ), inserted as (
     insert into webhook_deliveries (org_id, id, created_at, endpoint_id, tenant_id, environment, event, message_id,
       payload, status, max_attempts, next_attempt_at, traceparent)
     select org_id, delivery_id, created_at, endpoint_id, tenant_id, environment, event,
       case when event like 'message.%' then data ->> 'message_id' end,
       '{"event":' || to_json(event) || ',"data":' || data
         || ',"timestamp":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
         || coalesce(',"environment":"' || environment || '"', '')
         || ',"tenant_id":' || coalesce('"' || tenant_id || '"', 'null')
         || ',"delivery_id":"' || delivery_id || '"}',
       'pending', :maxAttempts, :at, traceparent
     from identified
   ), queues as (
     select org_id, endpoint_id from webhook_lanes
     where (org_id, endpoint_id) in (select org_id, endpoint_id from matched)
     order by org_id, endpoint_id
     for update
   ), queues_due as (
     update webhook_lanes l set due_at = least(l.due_at, :at)
     from queues q where l.org_id = q.org_id and l.endpoint_id = q.endpoint_id
   )
   select (select count(*) from deleted) as events, (select count(*) from matched) as deliveries`,
)
