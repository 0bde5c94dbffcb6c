/** Audit entries in an export. Rules about what is withheld are in journal/audit/shown-entry.ts. */
import { withheldNames } from '../../../journal/audit/shown-entry.ts'
import type { ListedEntry } from '../../../journal/audit/store/list-rows.ts'
import { statement } from '../../../platform/db/statement.ts'
import { anyTexts, instants, lineOf, plains, words, wordsOrNull } from './line-columns.ts'

/**
 * Entries from which something may have to be withheld. It finds too many: a name can also be a value. The process
 * writes their lines, and the database those of all others.
 */
const mayWithhold = `(t.metadata::text ~ '"(${[...withheldNames].join('|')})"'
      or t.action = 'member.invited' or t.resource_type = 'invitation')`

export const auditLines = statement<{ orgId: string }, { line: string }>(
  'exports.audit_lines',
  `select ${lineOf(
    'audit_entry',
    [
      words('id', { orgId: 't.org_id' }),
      wordsOrNull({ actorUserId: 't.actor_user_id' }),
      anyTexts('action', { resourceType: 't.resource_type', resourceId: 't.resource_id' }),
      plains('metadata'),
      anyTexts({ ipAddress: 't.ip_address', userAgent: 't.user_agent' }),
      instants({ createdAt: 't.created_at' }),
    ].flat(),
  )} as line
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
