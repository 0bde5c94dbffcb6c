/**
 * Searches the messages of an org for a person. A text can be anywhere in a message, and no index finds it, so a request
 * looks at a bounded number of messages and says how far it got. The next request continues there. Tags, recipients,
 * jobs and ids have indexes and are found however old they are.
 */
import type { Db } from '../../platform/db/pool.ts'
import { type Channel, channels } from '../../platform/ground/channel.ts'
import type { PageAsked, Position } from '../../platform/ground/cursor.ts'
import { isId, timeOfId } from '../../platform/ground/ids.ts'
import { domainPart, parseMailbox } from '../../platform/ground/mailbox.ts'
import { isE164 } from '../../platform/ground/phone-number.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { recipientMark, tagMark } from './marks.ts'
import type { Filters } from './read.ts'
import {
  type BrowsedRow,
  type BrowseParams,
  findExactly,
  findMarked,
  findOfJob,
  isOwnSender,
  type ScannedRow,
  scanMessages,
} from './store/browse-messages.ts'

type BrowseFilters = Omit<Filters, 'to'> & {
  q?: string | undefined
  channel?: Channel | undefined
  environment?: Environment | undefined
  tenantId?: string | undefined
  jobId?: string | undefined
}

type BrowsedPage = {
  rows: BrowsedRow[]
  /** Where the next page starts. Undefined if there is none. */
  next: Position | undefined
  /** How far the search got, if it ended before the page was full. */
  searchedUntil: Date | undefined
}

/** A request looks at this many messages at most. The first portion is small, because most searches match soon. */
const portions = [500, 1_500, 3_000]
export const messageSearchWindow = portions.reduce((sum, portion) => sum + portion, 0)

const environments = ['live', 'test'] as const

const positionOf = ({ created_at, id }: { created_at: Date; id: string }): Position => ({
  createdAt: created_at.toISOString(),
  id,
})

const startAfter = (position: Position | undefined) => ({
  afterAt: position?.createdAt ?? null,
  afterId: position?.id ?? null,
})

/** Picks the statement whose index leaves the fewest rows to filter. */
const statementFor = ({ status, tenantId }: BrowseFilters) => {
  if (status !== undefined && status !== 'sent' && status !== 'delivered') return scanMessages.ofStatus
  return tenantId === undefined ? scanMessages.all : scanMessages.ofTenant
}

/** Whether the index alone leaves every row that matches, so that nothing has to be looked at in vain. */
const isIndexed = ({ q, tag, status, tenantId }: BrowseFilters): boolean => {
  if (q !== undefined || tag !== undefined) return false
  return status === undefined || (status !== 'sent' && status !== 'delivered' && tenantId === undefined)
}

const fullPage = (rows: BrowsedRow[], limit: number): BrowsedPage => {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown, next: rows.length > limit && last ? positionOf(last) : undefined, searchedUntil: undefined }
}

type Params = Omit<BrowseParams, 'portion' | 'afterAt' | 'afterId'>

/** Every pair of these channels and environments. */
const pairsOf = (ofChannels: readonly string[], ofEnvironments: readonly Environment[]) => ({
  channels: ofChannels.flatMap((channel) => ofEnvironments.map(() => channel)),
  environments: ofChannels.flatMap(() => ofEnvironments),
})

const paramsOf = (orgId: string, filters: BrowseFilters, limit: number): Params => {
  const { channel, environment, tenantId = null, status = null, tag = null, q = null } = filters
  const { createdAfter = null, createdBefore = null } = filters
  const pairs = pairsOf(channel ? [channel] : channels, environment ? [environment] : environments)
  return { orgId, ...pairs, tenantId, status, tag, q, createdAfter, createdBefore, limit: limit + 1 }
}

/** Null for a text that is no whole address or number. */
const recipientOf = (q: string | undefined): string | null => {
  if (q === undefined) return null
  const whole = isE164(q) ? q : (parseMailbox(q)?.address ?? null)
  return whole?.toLowerCase() === q.toLowerCase() ? q.toLowerCase() : null
}

type Scan = { rows: BrowsedRow[]; last: Position | undefined; atEnd: boolean }

export const makeBrowseMessages = ({ db }: { db: Db }) => {
  /** Looks at portions of messages until there are enough matches, the window is used up, or no message is left. */
  const scan = async (filters: BrowseFilters, params: Params, from: Position | undefined): Promise<Scan> => {
    const found: BrowsedRow[] = []
    const { limit } = params
    let last = from
    for (const portion of isIndexed(filters) ? [limit] : portions) {
      const rows = await db.rows(statementFor(filters), {
        ...params,
        ...startAfter(last),
        portion,
        limit: limit - found.length,
      })
      found.push(...rows.filter(({ matched }) => matched))
      const end: ScannedRow | undefined = rows.at(-1)
      if (end) last = positionOf(end)
      if (found.length >= limit) break
      if (!end || end.scanned < portion) return { rows: found, last, atEnd: true }
    }
    return { rows: found.slice(0, limit), last, atEnd: false }
  }

  /** Older messages with the tag. They continue the rows that the scan found. */
  const withTag = async (filters: BrowseFilters, params: Params, scanned: Scan, limit: number) => {
    const older = await db.rows(findMarked, {
      ...params,
      ...startAfter(scanned.last),
      limit: params.limit - scanned.rows.length,
      mark: tagMark(params.orgId, filters.tag as string),
    })
    return fullPage([...scanned.rows, ...older], limit)
  }

  /** Whether a message between these rows can be from the address. A test message can be from any address. */
  const skipsSenders = async (recipient: string, params: Params, from: Position | undefined, shown: BrowsedRow[]) => {
    const { orgId } = params
    if ((await db.row(isOwnSender, { orgId, domain: domainPart(recipient), value: recipient }))?.own) return true
    const ofTest = params.channels.filter((_, i) => params.environments[i] === 'test')
    if (ofTest.length === 0) return false
    const rows = await db.rows(scanMessages.all, {
      ...params,
      ...startAfter(from),
      ...pairsOf(ofTest, ['test']),
      createdAfter: shown.at(-1)?.created_at ?? null,
      portion: messageSearchWindow,
      limit: shown.length + 1,
    })
    const found = rows.some(({ matched, id }) => matched && !shown.some((row) => row.id === id))
    return found || (rows.at(-1)?.scanned ?? 0) === messageSearchWindow
  }

  /** The next messages to an address, when none of those that were looked at matches and none in between can. */
  const toRecipient = async (recipient: string, params: Params, scanned: Scan, limit: number) => {
    const mark = recipientMark(params.orgId, recipient)
    const older = await db.rows(findMarked, { ...params, ...startAfter(scanned.last), mark })
    const shown = older.slice(0, limit)
    const last = shown.at(-1)
    if (!last || (await skipsSenders(recipient, params, scanned.last, shown))) return undefined
    // Messages from the address can follow, so the search goes on after the last row.
    return { ...fullPage(older, limit), next: positionOf(last) }
  }

  const search = async (orgId: string, filters: BrowseFilters, page: PageAsked) => {
    const { cursor, limit } = page
    const params = paramsOf(orgId, filters, limit)
    if (filters.jobId !== undefined) {
      const rows = await db.rows(findOfJob, { ...params, ...startAfter(cursor), jobId: filters.jobId })
      return fullPage(rows, limit)
    }
    const scanned = await scan(filters, params, cursor)
    if (scanned.atEnd || scanned.rows.length > limit) return fullPage(scanned.rows, limit)
    if (filters.tag !== undefined) return withTag(filters, params, scanned, limit)
    const recipient = recipientOf(filters.q)
    if (recipient !== null && scanned.rows.length === 0) {
      const found = await toRecipient(recipient, params, scanned, limit)
      if (found) return found
    }
    const { last } = scanned
    return { rows: scanned.rows, next: last, searchedUntil: last && new Date(last.createdAt) }
  }

  return async (orgId: string, filters: BrowseFilters, page: PageAsked): Promise<BrowsedPage> => {
    const { q } = filters
    if (q === undefined || !isId('message', q)) return search(orgId, filters, page)
    const { limit } = page
    const params = paramsOf(orgId, { ...filters, q: undefined }, limit)
    const createdAt = new Date(timeOfId(q))
    return fullPage(await db.rows(findExactly, { ...params, ...startAfter(page.cursor), id: q, createdAt }), limit)
  }
}

export type BrowseMessages = ReturnType<typeof makeBrowseMessages>
