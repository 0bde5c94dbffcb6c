/** Verifies the whole log: walks all pages of signatures, and then all pages of the chain. */
import { api, unwrap } from '../../../api/client.ts'
import { pageOf } from '../../../ui/use-pages.ts'

export const findingNames = [
  'invalidEntries',
  'strippedEntries',
  'missing',
  'broken',
  'invalid',
  'stripped',
  'misdated',
  'stray',
] as const
export type FindingName = (typeof findingNames)[number]

export type LogReport = {
  checked: number
  ok: number
  unsigned: number
  legacy: number
  links: number
  waiting: number
  head: string
  pruned: string
  findings: Record<FindingName, string[]>
}

const emptyReport = (): LogReport => ({
  checked: 0,
  ok: 0,
  unsigned: 0,
  legacy: 0,
  links: 0,
  waiting: 0,
  head: 'none',
  pruned: 'none',
  findings: Object.fromEntries(findingNames.map((name) => [name, [] as string[]])) as LogReport['findings'],
})

const soundEnds = ['ok', 'none']

export const isIntact = ({ findings, head, pruned }: LogReport): boolean =>
  findingNames.every((name) => findings[name].length === 0) && soundEnds.includes(head) && soundEnds.includes(pruned)

type Watch = { signal: AbortSignal; onProgress: (report: LogReport) => void }

const pageAt = (cursor: string | undefined) => ({ ...pageOf(cursor, 500) })
const idsOf = (entries: readonly { id: string }[]): string[] => entries.map(({ id }) => id)

const walkSignatures = async (report: LogReport, { signal, onProgress }: Watch): Promise<void> => {
  let cursor: string | undefined
  do {
    const query = pageAt(cursor)
    const page = await unwrap(api.GET('/api/internal/audit/verify', { params: { query }, signal }))
    report.checked += page.checked
    report.ok += page.ok
    report.unsigned += page.unsigned
    report.legacy += page.legacy
    report.findings.invalidEntries.push(...idsOf(page.invalid))
    report.findings.strippedEntries.push(...idsOf(page.stripped))
    onProgress({ ...report })
    cursor = page.next_cursor ?? undefined
  } while (cursor)
}

const walkChain = async (report: LogReport, { signal, onProgress }: Watch): Promise<void> => {
  let cursor: string | undefined
  do {
    const query = pageAt(cursor)
    const page = await unwrap(api.GET('/api/internal/audit/chain', { params: { query }, signal }))
    // The first page has the queue and both ends.
    if (cursor === undefined) Object.assign(report, { head: page.head, pruned: page.pruned, waiting: page.waiting })
    report.links += page.checked
    for (const name of ['missing', 'broken', 'invalid', 'stripped', 'misdated', 'stray'] as const) {
      report.findings[name].push(...page[name])
    }
    onProgress({ ...report })
    cursor = page.next_cursor ?? undefined
  } while (cursor)
}

export const verifyLog = async (watch: Watch): Promise<LogReport> => {
  const report = emptyReport()
  await walkSignatures(report, watch)
  await walkChain(report, watch)
  return report
}
