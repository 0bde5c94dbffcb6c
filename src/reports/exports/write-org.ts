/** Writes everything that an org has, one line per row. */
import type pg from 'pg'
import { shownEntry } from '../../journal/audit/shown-entry.ts'
import { copyValues } from '../../platform/db/copy-out.ts'
import type { Db } from '../../platform/db/pool.ts'
import { queryOf } from '../../platform/db/statement.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { auditLines, withheldEntries } from './store/audit-lines.ts'
import { exportedTypes, typeLines } from './store/exported-types.ts'
import { beginSnapshot } from './store/snapshot.ts'

const auditType = 'audit_entry'
const types = [...exportedTypes.map(({ type }) => type), auditType]
const lines = exportedTypes.map(typeLines)
const pageRows = 500

type WriteOptions = {
  /** Called with the number of rows that were written since the last call. */
  rowsWritten?: (count: number) => void
}

/** The parts of the file in order. The caller takes them as fast as it likes; ending early ends the reading. */
export type WriteOrg = (orgId: string, options?: WriteOptions) => AsyncGenerator<Buffer>

const line = (type: string, data: object): Buffer => Buffer.from(`${JSON.stringify({ type, data })}\n`)

async function* writeWithheld(client: pg.Client, orgId: string, wrote: (rows: number) => void): AsyncGenerator<Buffer> {
  for (let afterId = ''; ; ) {
    const { rows } = await client.query(queryOf(withheldEntries, { orgId, afterId, limit: pageRows }))
    if (rows.length > 0) yield Buffer.concat(rows.map((row) => line(auditType, shownEntry(row))))
    wrote(rows.length)
    if (rows.length < pageRows) return
    afterId = rows.at(-1).id
  }
}

export const makeWriteOrg = ({ db, clock }: { db: Pick<Db, 'connect'>; clock: Clock }): WriteOrg =>
  async function* writeOrg(orgId, { rowsWritten: wrote = () => undefined } = {}) {
    const client = await db.connect()
    try {
      // All types are read as they were at one moment.
      await client.query(beginSnapshot)
      yield line('manifest', { format: 1, org_id: orgId, generated_at: clock.now().toISOString(), types })
      const options = { rowsRead: wrote }
      for (const rows of lines) yield* copyValues(client, rows, { orgId }, options)
      yield* copyValues(client, auditLines, { orgId }, options)
      yield* writeWithheld(client, orgId, wrote)
    } finally {
      // Ends a COPY that is under way too.
      await client.end().catch(() => undefined)
    }
  }
