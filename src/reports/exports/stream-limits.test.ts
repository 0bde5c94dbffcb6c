/** How many streamed exports run at a time, and clients that go away in the middle of one. */
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, expect, test } from 'vitest'
import { ofDashboard } from '../../../test/clients/people.ts'
import { type Member, primaryOwner } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import { makeStreamOrg } from './stream-org.ts'
import { makeWriteOrg } from './write-org.ts'

const t = await startTestService()
afterAll(() => t.stop())

const path = '/api/internal/org/export'

/** An org whose export is larger than what sockets hold. */
const largeOrg = async (): Promise<Member> => {
  const { org } = await t.org()
  await t.database.sql(
    `insert into contacts (org_id, id, created_environment, email, metadata, created_at, updated_at)
     select $1, 'con_' || lpad(g::text, 26, '0'), 'live', 'c' || g || '@example.com',
       jsonb_build_object('note', repeat('long ', 1000)), $2, $2
     from generate_series(1, 4000) g`,
    [org.id, t.service.clock.now()],
  )
  return primaryOwner(t, org.id)
}

const open = new Set<ClientRequest>()
afterEach(() => {
  for (const one of open) one.destroy()
  open.clear()
})

type Held = { client: ClientRequest; response: IncomingMessage }

/** A client that gets the first bytes and then reads nothing. */
const hold = async ({ cookie }: Member): Promise<Held> => {
  const client = request(`${t.url}${path}`, { headers: { cookie, ...ofDashboard } })
  client.on('error', () => undefined)
  open.add(client)
  client.end()
  const [response] = (await once(client, 'response')) as [IncomingMessage]
  response.on('error', () => undefined)
  expect(response.statusCode).toBe(200)
  await once(response, 'readable')
  return { client, response }
}

/** Connections that read for an export. Each is one of the server, outside of the pool. */
const reading = async (): Promise<number> =>
  (
    await t.database.sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()
         and (query ~* '^\\s*copy' or query ~* 'repeatable read')`,
    )
  )[0]?.n ?? -1

const refusal = { error: 'Too many exports are running. Try again later.', code: 'RATE_LIMITED' }
const expectRefused = async (owner: Member) => {
  const reply = await owner.ask('GET', path)
  expect([reply.status, reply.body, reply.headers['retry-after']]).toEqual([429, refusal, '30'])
}

test('AD-133 an org streams two exports at a time and the service four, and a further one is 429', async () => {
  const [one, two, three] = [await largeOrg(), await largeOrg(), await largeOrg()]
  const held = [await hold(one), await hold(one)]
  await expectRefused(one)
  held.push(await hold(two), await hold(two))
  await expectRefused(three)
  expect(await reading()).toBe(4)
  // A refused request is not counted against the five of an hour, and starts nothing.
  const entries = await t.database.sql(
    `select 1 from audit_entries e join memberships m on m.org_id = e.org_id
     where m.user_id = $1 and e.action = 'org.exported'`,
    [three.userId],
  )
  expect(entries).toEqual([])
  held[0]?.client.destroy()
  await expect.poll(async () => (await hold(three).catch(() => undefined)) !== undefined).toBe(true)
})

test('AD-133 a client that goes away in the middle frees its place and its connection', async () => {
  const owner = await largeOrg()
  await expect.poll(reading).toBe(0)
  const [one, two] = [await hold(owner), await hold(owner)]
  await expectRefused(owner)
  expect(await reading()).toBe(2)
  one.client.destroy()
  two.response.destroy()
  await expect.poll(reading).toBe(0)
  await expect.poll(async () => (await hold(owner).catch(() => undefined)) !== undefined).toBe(true)
  expect(await reading()).toBe(1)
})

test('AD-133 a client that is gone before the first byte frees its connection', async () => {
  const { org } = await t.org()
  await expect.poll(reading).toBe(0)
  const { db, clock } = t.service
  const writeOrg = makeWriteOrg({ db, clock })
  const streamOrg = makeStreamOrg({ db, clock, limiter: undefined, audit: t.service.modules.audit, writeOrg })
  const { userId } = await primaryOwner(t, org.id)
  const actor = { kind: 'user', userId, ip: null, userAgent: '' } as const
  const streams = [await streamOrg(org.id, actor), await streamOrg(org.id, actor)]
  await expect(streamOrg(org.id, actor)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  expect(await reading()).toBe(2)
  for (const stream of streams) stream.destroy()
  await expect.poll(reading).toBe(0)
  const next = await streamOrg(org.id, actor)
  expect((await text(next)).startsWith('{"type":"manifest"')).toBe(true)
  await expect.poll(reading).toBe(0)
})
