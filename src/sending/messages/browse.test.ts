/** The cost of the dashboard's list and search, which must not grow with the messages of an org. */
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/service/service.ts'
import type { Statement } from '../../platform/db/statement.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Environment } from '../../platform/ground/scope.ts'
import { makeBrowseMessages, messageSearchWindow } from './browse.ts'
import { recipientMark, tagMark } from './marks.ts'
import { type BrowseParams, scanMessages } from './store/browse-messages.ts'

const t = await startTestService()
afterAll(() => t.stop())
const browse = makeBrowseMessages({ db: t.service.db })

/** One message a second until yesterday. Number 1 is the oldest. Every second one is an SMS. */
const insertMessages = async (orgId: string, count: number): Promise<void> => {
  await t.database.sql(
    `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address, to_addresses,
       subject, html, text, history, sms, marks)
     select $1, 'msg_' || lpad(n::text, 26, '0'), $3::timestamptz - make_interval(secs => $2 - n), 'live', 'prj',
       case when n % 2 = 0 then 'sms' else 'email' end, 'delivered', 'hello@example.test',
       array['reader' || n || '@example.com'], 'Subject ' || n, repeat('html ', 400), 'Text ' || n, '[]',
       '{"segments":1}', '{}'
     from generate_series(1, $2) n`,
    [orgId, count, new Date(t.service.clock.millis() - 86_400_000)],
  )
}

const newOrg = async (count: number): Promise<string> => {
  const orgId = newId('org')
  await insertMessages(orgId, count)
  return orgId
}

const small = await newOrg(messageSearchWindow + 1_000)
const large = await newOrg(50_000)
await t.database.sql('analyze messages')

const setMessage = (orgId: string, n: number, set: string, values: unknown[] = []) =>
  t.database.sql(`update messages set ${set} where org_id = $1 and id = 'msg_' || lpad($2::text, 26, '0')`, [
    orgId,
    n,
    ...values,
  ])

const literal = (value: unknown): string => {
  if (value === null) return 'null'
  if (typeof value === 'number') return String(value)
  const text = Array.isArray(value) ? `{${value.join(',')}}` : String(value)
  return `'${text.replaceAll("'", "''")}'`
}

/** The blocks that a statement reads with its generic plan, which is the one that a prepared statement gets. */
const blocksOf = async ({ text, params }: Statement<BrowseParams, unknown>, values: BrowseParams): Promise<number> => {
  const client = await t.service.db.connect()
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    await client.query(`prepare planned as ${text}`)
    const given = params.map((param) => literal(values[param as keyof BrowseParams])).join(', ')
    const { rows } = await client.query(`explain (analyze, buffers, format json) execute planned(${given})`)
    const { Plan } = rows[0]['QUERY PLAN'][0]
    return Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks']
  } finally {
    await client.end()
  }
}

const everything = {
  channels: ['email', 'email', 'sms', 'sms'],
  environments: ['live', 'test', 'live', 'test'] as Environment[],
  tenantId: null,
  status: null,
  tag: null,
  q: null,
  createdAfter: null,
  createdBefore: null,
  afterAt: null,
  afterId: null,
}

describe('the cost of a page', () => {
  test.each([
    ['a page of the list', { portion: 21, limit: 21 }, 150],
    ['a search that finds nothing', { portion: 3_000, limit: 21, q: 'nowhere' }, 5_000],
    ['a search with many matches', { portion: 500, limit: 21, q: 'subject' }, 1_000],
    ['a filter that nothing matches', { portion: 3_000, limit: 21, status: 'sent' }, 5_000],
  ])('A-307 %s is the same for an org with few messages and one with many', async (_, given, most) => {
    const cost = (orgId: string) => blocksOf(scanMessages.all, { orgId, ...everything, ...given })
    const [few, many] = [await cost(small), await cost(large)]
    expect(many).toBeLessThan(most)
    expect(many).toBeLessThan(1.2 * few)
  })

  test.each([
    ['tenant', scanMessages.ofTenant, { tenantId: 'ten_1' }],
    ['status', scanMessages.ofStatus, { status: 'bounced' }],
  ])('AD-121 a filter by %s reads only its own index', async (_, statement, filter) => {
    const cost = await blocksOf(statement, { orgId: large, ...everything, ...filter, portion: 3_000, limit: 21 })
    expect(cost).toBeLessThan(50)
  })
})

describe('a search in many messages', () => {
  test('A-308 looks at a bounded number of messages, says how far it got, and continues there', async () => {
    await setMessage(large, 30_001, "subject = 'A needle'")
    let page = await browse(large, { q: 'NEEDLE' }, { limit: 20 })
    let pages = 1
    const newest = 50_000
    while (page.rows.length === 0 && page.next) {
      expect(page.searchedUntil?.toISOString()).toBe(page.next.createdAt)
      expect(Number(page.next.id.slice(4))).toBe(newest - pages * messageSearchWindow + 1)
      page = await browse(large, { q: 'NEEDLE' }, { limit: 20, cursor: page.next })
      pages += 1
    }
    expect(pages).toBe(4)
    expect(page.rows.map(({ subject }) => subject)).toEqual(['A needle'])
    let last = page
    while (last.next) last = await browse(large, { q: 'NEEDLE' }, { limit: 20, cursor: last.next })
    expect([last.rows, last.searchedUntil]).toEqual([[], undefined])
  })

  test('A-308 returns a full page as soon as there are enough matches', async () => {
    const page = await browse(large, { q: 'subject' }, { limit: 20 })
    expect(page.rows).toHaveLength(20)
    expect([page.next?.id, page.searchedUntil]).toEqual([page.rows.at(-1)?.id, undefined])
  })

  test('A-308 A-309 finds an old message by the whole address or number of its recipient at once', async () => {
    for (const [n, to] of [
      [100, 'Rare@example.com'],
      [110, '+15125550142'],
    ] as const) {
      await setMessage(large, n, 'to_addresses = $3, marks = $4', [[to], [recipientMark(large, to)]])
      const page = await browse(large, { q: to.toLowerCase() }, { limit: 20 })
      expect(page.rows.map(({ to_addresses }) => to_addresses)).toEqual([[to]])
      expect(page.searchedUntil).toBeUndefined()
    }
  })

  test('A-308 A-309 finds old messages from an address that is also a recipient, and skips none of them', async () => {
    const { org, domain } = await t.org()
    const orgId = org.id
    await insertMessages(orgId, 3 * messageSearchWindow)
    const own = `News@${domain}`
    const number = '+15125550177'
    await t.database.sql(
      `insert into phone_numbers (org_id, id, environment, kind, e164, iso_country, status, created_at, updated_at)
       values ($1, 'pn_search', 'live', 'number', $2, 'US', 'verified', $3, $3)`,
      [orgId, number, t.service.clock.now()],
    )
    const foreign = 'tester@elsewhere.test'
    const middle = Math.floor(1.5 * messageSearchWindow)
    for (const [place, [address, environment]] of (
      [
        [own, 'live'],
        [number, 'live'],
        [foreign, 'test'],
      ] as const
    ).entries()) {
      await setMessage(orgId, 10 + place, 'to_addresses = $3, marks = $4', [[address], [recipientMark(orgId, address)]])
      await setMessage(orgId, middle + place, 'from_address = $3, environment = $4', [address, environment])
      const found: number[] = []
      let cursor: { createdAt: string; id: string } | undefined
      do {
        const page = await browse(orgId, { q: address.toLowerCase() }, { limit: 20, cursor })
        found.push(...page.rows.map(({ id }) => Number(id.slice(4))))
        cursor = page.next
      } while (cursor)
      expect(found, address).toEqual([middle + place, 10 + place])
    }
    // A filter that leaves out the test messages leaves nothing to skip.
    const live = await browse(orgId, { q: foreign, environment: 'live' }, { limit: 20 })
    expect(live.rows.map(({ id }) => Number(id.slice(4)))).toEqual([12])
  })

  test('AD-121 finds old messages by their tag at once, after newer ones', async () => {
    for (const n of [200, 300, 49_990]) {
      await setMessage(large, n, 'tags = $3, marks = $4', [['rare'], [tagMark(large, 'rare')]])
    }
    const numbers = async (limit: number, cursor?: { createdAt: string; id: string }) => {
      const page = await browse(large, { tag: 'rare' }, { limit, cursor })
      return { found: page.rows.map(({ id }) => Number(id.slice(4))), next: page.next }
    }
    expect(await numbers(20)).toEqual({ found: [49_990, 300, 200], next: undefined })
    const first = await numbers(2)
    expect(first.found).toEqual([49_990, 300])
    expect(await numbers(2, first.next)).toEqual({ found: [200], next: undefined })
  })

  test('AD-121 finds the messages of a job, also with a text', async () => {
    const jobId = newId('job')
    for (const n of [400, 410, 500]) await setMessage(large, n, 'job_id = $3', [jobId])
    const found = async (filters: object) =>
      (await browse(large, { jobId, ...filters }, { limit: 20 })).rows.map(({ id }) => Number(id.slice(4)))
    expect(await found({})).toEqual([500, 410, 400])
    expect(await found({ q: 'text 41', channel: 'sms' })).toEqual([410])
    expect(await found({ q: 'text 400', channel: 'email' })).toEqual([])
  })
})
