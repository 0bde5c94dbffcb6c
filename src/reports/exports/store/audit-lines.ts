/** Audit entries in an export. Rules about what is withheld are in audit/shown-entry.ts. */
import { withheldNames } from '../../audit/shown-entry.ts'
import type { ListedEntry } from '../../audit/store/list-rows.ts'
import { statement } from '../../db/statement.ts'
import { anyText, lineOf, plain, time, word, wordOrNull } from './line-columns.ts'

/**
 * Entries from which something may have to be withheld. It finds too many: a name can also be a value. The process
 * writes their lines, and the database those of all others.
 */
const mayWithhold = `(t.metadata::text ~ '"(${[...withheldNames].join('|')})"'
      or t.action = 'member.invited' or t.resource_type = 'invitation')`

export const auditLines = statement<{ orgId: string }, { line: string }>(
  'exports.audit_lines',
  `select ${lineOf('audit_entry', [
    word('id', 't.id'),
    word('orgId', 't.org_id'),
    wordOrNull('actorUserId', 't.actor_user_id'),
    anyText('action', 't.action'),
    anyText('resourceType', 't.resource_type'),
    anyText('resourceId', 't.resource_id'),
    plain('metadata', 't.metadata'),
    anyText('ipAddress', 't.ip_address'),
    anyText('userAgent', 't.user_agent'),
    time('createdAt', 't.created_at'),
  ])} as line
   from audit_entries t
   where t.org_id = :orgId and ${mayWithhold} is not true`,
)

export const withheldEntries = statement<{ orgId: string; afterId: string; limit: number }, ListedEntry>(
  'exports.withheld_entries',
  `select t.org_id, t.id, t.actor_user_id, t.action, t.resource_type, t.resource_id, t.metadata, t.ip_address,
     t.user_agent, t.created_at
   from audit_entries t
   where t.org_id = :orgId and t.id > :afterId and ${mayWithhold}
   order by t.id
   limit :limit`,
)
