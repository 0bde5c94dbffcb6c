/** Messages that are scheduled for a local time. */
import { statement } from '../../../platform/db/statement.ts'
import type { MessageRow } from './message-row.ts'

export const listLocalScheduled = statement<
  { afterOrg: string; afterId: string; limit: number },
  Pick<MessageRow, 'org_id' | 'id' | 'created_at' | 'scheduled_at' | 'sms'>
>(
  'messages.list_local_scheduled',
  `select org_id, id, created_at, scheduled_at, sms
   from messages
   where status = 'scheduled' and sms ->> 'scheduled_local' is not null and (org_id, id) > (:afterOrg, :afterId)
   order by org_id, id
   limit :limit`,
)

/** Leaves a message alone that was deferred or claimed meanwhile. The scheduler checks its local time again. */
export const moveScheduled = statement<{ orgId: string; id: string; createdAt: Date; former: Date; dueAt: Date }>(
  'messages.move_scheduled',
  `update messages set scheduled_at = :dueAt, due_at = :dueAt
   where org_id = :orgId and id = :id and created_at = :createdAt
     and status = 'scheduled' and scheduled_at = :former and due_at = :former`,
)
