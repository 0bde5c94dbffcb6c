/** Looks up in DNS whether the records of a domain are published. */
import { Resolver } from 'node:dns/promises'
import { assertNotInTransaction } from '../db/pool.ts'
import { keyIn, publishesKey } from './dkim-record.ts'
import type { DnsRecord, RecordName, RecordStatus, RecordStatuses } from './records.ts'
import type { DkimStatus } from './shapes.ts'

export type CheckResult = { dkim: DkimStatus; records: RecordStatuses }

export type CheckDns = (records: readonly DnsRecord[]) => Promise<CheckResult>

/** The name does not exist or has no record of the type. Every other DNS error counts as temporary. */
export const absentCodes = new Set(['ENOTFOUND', 'ENODATA'])

const squeeze = (text: string): string => text.trim().replace(/\s+/g, ' ')
const withoutDot = (host: string): string => host.toLowerCase().replace(/\.$/, '')

/** `others` means that different records are published where ours belongs. */
const statusOf = (found: boolean, others: boolean): RecordStatus => (found ? 'found' : others ? 'mismatch' : 'pending')

export const spfRecordsIn = (texts: readonly string[]): string[] =>
  texts.map((text) => squeeze(text).toLowerCase()).filter((text) => /^v=spf1( |$)/.test(text))

/** An SPF record may include other senders too. A DMARC record may be stricter than the one we suggest. */
const checkTxt = (record: DnsRecord, texts: string[]): RecordStatus => {
  if (record.record === 'DKIM') {
    const key = keyIn(record.value)
    return statusOf(
      texts.some((text) => publishesKey(text, key)),
      texts.length > 0,
    )
  }
  if (record.record === 'SPF') {
    const include = record.value.split(' ').find((term) => term.startsWith('include:')) as string
    const published = spfRecordsIn(texts)
    return statusOf(
      published.some((text) => text.split(' ').includes(include)),
      published.length > 0,
    )
  }
  return statusOf(
    texts.some((text) => /^v=dmarc1\s*;/i.test(squeeze(text))),
    texts.length > 0,
  )
}

const checkMx = (record: DnsRecord, hosts: string[]): RecordStatus =>
  statusOf(
    hosts.some((host) => withoutDot(host) === withoutDot(record.value)),
    hosts.length > 0,
  )

type Options = {
  /** Addresses of resolvers, with a port unless it is 53. Undefined uses the resolvers of the machine. */
  servers: readonly string[] | undefined
  timeoutMs?: number
  tries?: number
  /** After this time the check ends, and unanswered lookups count as failed. */
  deadlineMs?: number
}

const dkimStatusFor: Record<RecordStatus, DkimStatus> = { found: 'SUCCESS', mismatch: 'FAILED', pending: 'PENDING' }

export const makeCheckDns =
  ({ servers, timeoutMs = 2_000, tries = 2, deadlineMs = 15_000 }: Options): CheckDns =>
  async (records) => {
    assertNotInTransaction('a DNS check')
    const resolver = new Resolver({ timeout: timeoutMs, tries })
    if (servers) resolver.setServers(servers)
    const deadline = setTimeout(() => resolver.cancel(), deadlineMs)

    const lookUp = async (record: DnsRecord): Promise<RecordStatus> => {
      if (record.type === 'MX') {
        const hosts = await resolver.resolveMx(record.name)
        return checkMx(
          record,
          hosts.map(({ exchange }) => exchange),
        )
      }
      const texts = await resolver.resolveTxt(record.name)
      return checkTxt(
        record,
        texts.map((chunks) => chunks.join('')),
      )
    }
    /** The status is undefined when the lookup failed. */
    const check = async (record: DnsRecord): Promise<[RecordName, RecordStatus | undefined]> => {
      try {
        return [record.record, await lookUp(record)]
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? ''
        return [record.record, absentCodes.has(code) ? 'pending' : undefined]
      }
    }

    try {
      const checked = await Promise.all(records.map(check))
      const known = checked.filter((pair): pair is [RecordName, RecordStatus] => pair[1] !== undefined)
      const statuses: RecordStatuses = Object.fromEntries(known)
      return { dkim: statuses.DKIM ? dkimStatusFor[statuses.DKIM] : 'TEMPORARY_FAILURE', records: statuses }
    } finally {
      clearTimeout(deadline)
    }
  }
