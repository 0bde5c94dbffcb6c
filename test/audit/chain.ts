/** Writes and links audit entries, and builds the expected reports of a chain. */
import type { AuditEntry } from '../../src/journal/audit/append.ts'
import { makeChain } from '../../src/journal/audit/chain.ts'
import type { ChainReport } from '../../src/journal/audit/verify-chain.ts'
import { readConfig } from '../../src/platform/ground/config/config.ts'
import { type Log, silentLog } from '../../src/platform/ground/log.ts'
import type { TestService } from '../service/service.ts'

/** Writes audit entries: `one` in its own transaction, `many` in a single transaction. */
export const writer = (t: TestService) => {
  const { db, audit } = t.service.modules
  const entry = (orgId: string, resourceId: string): AuditEntry => ({
    orgId,
    actor: { kind: 'system' },
    action: 'org.updated',
    resourceType: 'org',
    resourceId,
    metadata: { note: `about ${resourceId}` },
  })
  return {
    one: (orgId: string, name: string) => db.tx((tx) => audit(tx, entry(orgId, name))),
    many: (orgId: string, n: number, from = 0) =>
      db.tx((tx) => audit(tx, ...Array.from({ length: n }, (_, i) => entry(orgId, `e${from + i}`)))),
  }
}

export const whole = (orgId: string, checked: number, more: Partial<ChainReport> = {}): ChainReport => ({
  org_id: orgId,
  checked,
  missing: [],
  broken: [],
  invalid: [],
  stripped: [],
  misdated: [],
  stray: [],
  head: 'ok',
  pruned: 'none',
  register: 'ok',
  waiting: 0,
  ...more,
})

/** What `ops audit verify` adds to a report when there is no witness. */
export const unwitnessed = { witnessed: null, rolled_back: [], forged_lines: [], unreadable_lines: 0 }

export const cutover = readConfig({}).auditCutover.at

export const chainOf = (t: TestService, secrets: string | string[] | undefined, log: Log = silentLog()) =>
  makeChain({ db: t.service.db, clock: t.service.clock, log, secrets: [secrets ?? []].flat(), cutover })

export type LinkRow = { seq: number; entry_id: string; digest: Buffer; resource_id: string | null }
export const linksOf = (t: TestService, orgId: string) =>
  t.database.sql<LinkRow>(
    `select l.seq::int as seq, l.entry_id, l.digest, e.resource_id
     from audit_links l left join audit_entries e on e.org_id = l.org_id and e.id = l.entry_id
     where l.org_id = $1 order by l.seq`,
    [orgId],
  )
