/** What all operator commands share: their options, their output, and the org that they are about. */
import { findOrg, type OrgRow } from '../../customers/orgs/store.ts'
import { page } from '../../interfaces/http/page.ts'
import type { Audit } from '../../journal/audit/append.ts'
import type { Chain } from '../../journal/audit/chain.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Config } from '../../platform/ground/config/config.ts'
import { decodeCursor, type Keyset, keysetOf } from '../../platform/ground/cursor.ts'
import { isId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { opsUsage } from './usage.ts'

export type Options = Record<string, string | boolean | undefined>
export type Context = {
  db: Db
  clock: Clock
  log: Log
  audit: Audit
  chain: Chain
  config: Config
  options: Options
  out: Out
}

/** Receives the output of a command: standard output, or a test. */
export type Out = (text: string) => void

export const print = ({ options, out }: Context, value: unknown, text: string): void => {
  out(`${options.json ? JSON.stringify(value) : text.trimEnd()}\n`)
}

export const optionText = (options: Options, name: string): string | undefined => {
  const value = options[name]
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

export const required = (options: Options, name: string): string => {
  const value = optionText(options, name)
  if (value === undefined) throw new OperatorFault(`--${name} is required.\n\n${opsUsage}`)
  return value
}

export const orgIdOf = (value: string | undefined): string => {
  if (value === undefined || !isId('org', value))
    throw new OperatorFault(`An org id (org_…) is required.\n\n${opsUsage}`)
  return value
}

export const existing = async (db: Db, orgId: string): Promise<OrgRow> => {
  const org = await db.row(findOrg, { orgId })
  if (!org) throw new OperatorFault(`Org ${orgId} does not exist.`)
  return org
}

/** Customers choose names, so control characters must not reach the terminal. */
const printable = (text: string): string => text.replace(/\p{C}/gu, '?')

export const asLines = (value: Record<string, unknown>): string =>
  Object.entries(value)
    .map(([name, shown]) => `${name.padEnd(18)} ${printable(String(shown ?? 'none'))}`)
    .join('\n')

/** Columns as wide as their widest cell. */
export const asTable = (rows: string[][]): string => {
  const shown = rows.map((cells) => cells.map(printable))
  const widths = (shown[0] ?? []).map((_, column) => Math.max(...shown.map((cells) => (cells[column] ?? '').length)))
  return shown
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The page that `--limit` and `--cursor` ask for. */
export const pageOfOptions = ({ options }: Context): { keyset: Keyset; limit: number } => {
  const given = optionText(options, 'limit') ?? '100'
  const limit = /^\d{1,4}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > 1_000) throw new OperatorFault('--limit must be a whole number from 1 to 1000.')
  const text = optionText(options, 'cursor')
  const cursor = text === undefined ? undefined : decodeCursor(text)
  if (text !== undefined && !cursor) throw new OperatorFault('--cursor must be the next cursor of an earlier page.')
  return { keyset: keysetOf({ cursor, limit }), limit }
}

type Listing<R> = { rows: R[]; limit: number; show: (row: R) => unknown; line: (row: R) => string[] }

/** Prints a page: as JSON in the form of the API, or one line per row and the option that continues the list. */
export const printPage = <R extends { created_at: Date; id: string }>(context: Context, listing: Listing<R>): void => {
  const { rows, limit, show, line } = listing
  const shown = page(rows, limit, show)
  const more = shown.next_cursor === null ? '' : `\n\nThere are more. Continue with --cursor ${shown.next_cursor}`
  print(context, shown, `${asTable(rows.slice(0, limit).map(line))}${more}`)
}
