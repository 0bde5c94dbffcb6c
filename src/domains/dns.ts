/** Asks DNS whether the records of a domain are published. */
import { Resolver } from 'node:dns/promises'
import { assertNotInTransaction } from '../db/pool.ts'
import { keyIn, publishesKey } from './dkim-record.ts'
import type { DnsRecord, RecordName, RecordStatus, RecordStatuses } from './records.ts'
import type { DkimStatus } from './shapes.ts'

export type Checked = { dkim: DkimStatus; records: RecordStatuses }

export type CheckDns = (records: readonly DnsRecord[]) => Promise<Checked>

/** Names without a record of that type. Everything else that goes wrong may be right again in a minute. */
const absent = new Set(['ENOTFOUND', 'ENODATA'])

const squeeze = (text: string): string => text.trim().replace(/\s+/g, ' ')
const withoutDot = (host: string): string => host.toLowerCase().replace(/\.$/, '')

const verdict = (found: boolean, other: boolean): RecordStatus => (found ? 'found' : other ? 'mismatch' : 'pending')

const spfOf = (texts: string[]): string[] =>
  texts.map((text) => squeeze(text).toLowerCase()).filter((text) => /^v=spf1( |$)/.test(text))

/** An SPF record may allow others beside us, and a DMARC record may be stricter than the one we propose. */
const judgeTxt = (record: DnsRecord, texts: string[]): RecordStatus => {
  if (record.record === 'DKIM') {
    const key = keyIn(record.value)
    return verdict(
      texts.some((text) => publishesKey(text, key)),
      texts.length > 0,
    )
  }
  if (record.record === 'SPF') {
    const include = record.value.split(' ').find((term) => term.startsWith('include:')) as string
    const published = spfOf(texts)
    return verdict(
      published.some((text) => text.split(' ').includes(include)),
      published.length > 0,
    )
  }
  return verdict(
    texts.some((text) => /^v=dmarc1\s*;/i.test(squeeze(text))),
    texts.length > 0,
  )
}

const judgeMx = (record: DnsRecord, hosts: string[]): RecordStatus =>
  verdict(
    hosts.some((host) => withoutDot(host) === withoutDot(record.value)),
    hosts.length > 0,
  )

type Options = {
  /** Addresses, with a port where it is not 53; undefined: those of the machine. */
  servers: readonly string[] | undefined
  timeoutMs?: number
  tries?: number
  /** Past this a check ends, whatever is still unanswered. */
  deadlineMs?: number
}

const dkimOf: Record<RecordStatus, DkimStatus> = { found: 'SUCCESS', mismatch: 'FAILED', pending: 'PENDING' }

export const makeCheckDns =
  ({ servers, timeoutMs = 2_000, tries = 2, deadlineMs = 15_000 }: Options): CheckDns =>
  async (records) => {
    assertNotInTransaction('a DNS check')
    const resolver = new Resolver({ timeout: timeoutMs, tries })
    if (servers) resolver.setServers(servers)
    const deadline = setTimeout(() => resolver.cancel(), deadlineMs)

    const answer = async (record: DnsRecord): Promise<RecordStatus> => {
      if (record.type === 'MX') {
        return judgeMx(
          record,
          (await resolver.resolveMx(record.name)).map(({ exchange }) => exchange),
        )
      }
      return judgeTxt(
        record,
        (await resolver.resolveTxt(record.name)).map((chunks) => chunks.join('')),
      )
    }
    /** Undefined when nobody could say. */
    const look = async (record: DnsRecord): Promise<[RecordName, RecordStatus | undefined]> => {
      try {
        return [record.record, await answer(record)]
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? ''
        return [record.record, absent.has(code) ? 'pending' : undefined]
      }
    }

    try {
      const looked = await Promise.all(records.map(look))
      const known = looked.filter((pair): pair is [RecordName, RecordStatus] => pair[1] !== undefined)
      const statuses: RecordStatuses = Object.fromEntries(known)
      return { dkim: statuses.DKIM ? dkimOf[statuses.DKIM] : 'TEMPORARY_FAILURE', records: statuses }
    } finally {
      clearTimeout(deadline)
    }
  }
