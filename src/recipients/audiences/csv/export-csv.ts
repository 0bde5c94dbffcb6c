/** Writes the members of an audience as a CSV file, one page at a time, so that memory does not grow with the audience. */
import type { Db } from '../../../platform/db/pool.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import { assertMayRead } from '../access.ts'
import { type AudienceRow, findAudience } from '../store/audience-rows.ts'
import { type ExportedRow, exportKeys, exportMembers } from '../store/member-rows.ts'
import { writeLine } from './csv-cells.ts'
import { columnName, knownColumns, maxColumns } from './csv-header.ts'

export type CsvExport = { audience: AudienceRow; chunks: AsyncIterable<string> }

/** Fails before the first chunk if the audience cannot be exported. */
export type ExportCsv = (scope: Scope, audienceId: string) => Promise<CsvExport>

const pageRows = 1_000
const pageBytes = 4_000_000
const pageOfKeys = 500

const lineOf = ({ email, phone, name, metadata }: ExportedRow, keys: readonly string[]): string =>
  writeLine([email ?? '', phone ?? '', name ?? '', ...keys.map((key) => metadata[key] ?? '')])

export const makeExportCsv = ({ db }: { db: Db }): ExportCsv => {
  const keysOf = async (orgId: string, audienceId: string): Promise<string[]> => {
    const keys = new Set<string>()
    for (let afterId = ''; ; ) {
      const page = await db.row(exportKeys, { orgId, audienceId, afterId, limit: pageOfKeys })
      for (const key of page?.keys ?? []) keys.add(key)
      if (keys.size > maxColumns - knownColumns.length) {
        throw new Failure('PAYLOAD_TOO_LARGE', {
          message: `The members have more than ${maxColumns - knownColumns.length} different metadata keys, which is more than a CSV file can have columns.`,
        })
      }
      if (!page?.last_id) return [...keys].sort()
      afterId = page.last_id
    }
  }

  async function* write(orgId: string, audienceId: string, keys: string[]): AsyncIterable<string> {
    yield writeLine([...knownColumns, ...keys.map(columnName)])
    for (let afterId = ''; ; ) {
      const rows = await db.rows(exportMembers, { orgId, audienceId, afterId, limit: pageRows, maxBytes: pageBytes })
      const last = rows.at(-1)
      if (!last) return
      yield rows.map((row) => lineOf(row, keys)).join('')
      afterId = last.id
    }
  }

  return async (scope, audienceId) => {
    const { orgId } = scope
    const audience = assertMayRead(scope, await db.row(findAudience, { orgId, id: audienceId }))
    const keys = await keysOf(orgId, audienceId)
    return { audience, chunks: write(orgId, audienceId, keys) }
  }
}
