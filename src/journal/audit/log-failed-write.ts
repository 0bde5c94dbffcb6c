/** Logs audit entries that could not be written, without personal data: the log is kept and read by others. */
import { type IdKind, isId, prefixes } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { showStack } from '../../platform/ground/shown-stack.ts'

type FailedEntry = {
  id?: string | undefined
  orgId: string
  action: string
  actor?: { kind: string; userId?: string; keyId?: string }
  resourceType: string | null
  resourceId: string | null
}

const kinds = Object.keys(prefixes) as IdKind[]

/** The resource of some entries is an address. */
const idOnly = (value: string | null | undefined): string | null =>
  value && kinds.some((kind) => isId(kind, value)) ? value : null

const shownEntry = ({ id, orgId, action, actor, resourceType, resourceId }: FailedEntry) => ({
  id: idOnly(id),
  orgId: idOnly(orgId),
  action,
  actorUserId: idOnly(actor?.userId),
  apiKeyId: idOnly(actor?.keyId),
  resourceType,
  resourceId: idOnly(resourceId),
})

const word = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\w{1,63}$/.test(value) ? value : undefined

/**
 * The message, detail, parameters and causes of an error can quote any value of the entry, and its stack repeats the
 * message. The code, the names from the schema and the places in the code do not.
 */
const shownError = (error: unknown) => {
  if (!(error instanceof Error)) return { type: typeof error }
  const { code, table, column, constraint, routine } = error as Error & Record<string, unknown>
  const places = (error.stack ?? '').replace(error.message, '').match(/^ {4}at [^@\n]*:\d+:\d+\)?$/gm) ?? []
  return {
    type: word(error.name),
    code: word(code),
    table: word(table),
    column: word(column),
    constraint: word(constraint),
    routine: word(routine),
    stack: showStack(places.join('\n')),
  }
}

export const logFailedWrite = (log: Log, error: unknown, entries: readonly FailedEntry[]): void =>
  log.error({ failure: shownError(error), audit_entries: entries.map(shownEntry) }, 'audit entry write failed')
