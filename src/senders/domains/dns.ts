/** Looks up in DNS whether the records of a domain are published. */
import { Resolver } from 'node:dns/promises'
import { assertNotInTransaction } from '../../platform/db/pool.ts'
import { keyIn, publishesKey } from './dkim-record.ts'
import type { DnsRecord, RecordName, RecordStatus, RecordStatuses } from './records.ts'
import type { DkimStatus } from './shapes.ts'

export type CheckResult = { dkim: DkimStatus; records: RecordStatuses }

export type CheckDns = (records: readonly DnsRecord[]) => Promise<CheckResult>

/** The name does not exist or has no record of the type. Every other DNS error counts as temporary. */
export const absentCodes = new Set(['ENOTFOUND', 'ENODATA'])

const squeeze = (text: string): string => text.trim().replace(/\s+/g, ' ')
const withoutDot = (host: string): string => host.toLowerCase().replace(/\.$/, '')

/** `mismatch`: other values are published where ours belongs. */
const statusOf = (published: readonly string[], isOurs: (value: string) => boolean): RecordStatus => {
  if (published.some(isOurs)) return 'found'
  return published.length > 0 ? 'mismatch' : 'pending'
}

export const spfRecordsIn = (texts: readonly string[]): string[] =>
  texts.map((text) => squeeze(text).toLowerCase()).filter((text) => /^v=spf1( |$)/.test(text))

/** An SPF record may include other senders too. A DMARC record may be stricter than the one we suggest. */
const checkTxt = (record: DnsRecord, texts: string[]): RecordStatus => {
  if (record.record === 'DKIM') {
    const key = keyIn(record.value)
    return statusOf(texts, (text) => publishesKey(text, key))
  }
  if (record.record === 'SPF') {
    const include = record.value.split(' ').find((term) => term.startsWith('include:')) as string
    return statusOf(spfRecordsIn(texts), (text) => text.split(' ').includes(include))
  }
  return statusOf(texts, (text) => /^v=dmarc1\s*;/i.test(squeeze(text)))
}

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
        const hosts = (await resolver.resolveMx(record.name)).map(({ exchange }) => exchange)
        return statusOf(hosts, (host) => withoutDot(host) === withoutDot(record.value))
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
