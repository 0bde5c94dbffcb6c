import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { interrupt } from '../../../test/clients/interrupt.ts'
import { mail, mailer } from '../../../test/clients/mailer.ts'
import { type KeyOptions, startTestService, type TestService } from '../../../test/service/service.ts'
import { byKey, defineRoute } from './route.ts'

let t: TestService
let acme: Awaited<ReturnType<typeof mailer>>
let orgId: string
let runs = 0
let started: (() => void) | undefined
let pause: Promise<void> | undefined

const countRuns = defineRoute('POST', '/probe/runs', byKey('send:email'), {
  tag: 'Probe',
  summary: 'Counts its runs',
  idempotent: true,
  body: z.object({}).loose(),
  responses: { 200: { schema: z.any(), description: 'Done.' } },
  handle: async () => {
    runs++
    started?.()
    await pause
    return { status: 200, body: { run: runs } }
  },
})

const [first, second] = ['dom_01m7ekszz4e8brbwp01pb7h1dp', 'dom_01m7ekszz4e8brbwp01pb7h1dq']

/** Restrictions of API keys. Those with the same `like` can make the same requests. */
const kinds: (KeyOptions & { name: string; like: string; project?: number })[] = [
  { name: 'unrestricted', like: 'all' },
  { name: 'one project', like: 'p0', project: 0 },
  { name: 'another project', like: 'p1', project: 1 },
  { name: 'one domain', like: 'd0', allowedDomainIds: [first] },
  { name: 'another domain', like: 'd1', allowedDomainIds: [second] },
  { name: 'both domains', like: 'd01', allowedDomainIds: [first, second] },
  { name: 'both domains in another order', like: 'd01', allowedDomainIds: [second, first, second] },
  { name: 'no domain', like: 'none', allowedDomainIds: [] },
  { name: 'one project and one domain', like: 'p0d0', project: 0, allowedDomainIds: [first] },
]
const keyOf = new Map<string, [string, string]>()

const send = async (name: string, at: 0 | 1, idempotencyKey: string) => {
  const reply = await t.ask('POST', '/api/v1/probe/runs', {
    key: keyOf.get(name)?.[at] as string,
    body: {},
    headers: { 'idempotency-key': idempotencyKey },
  })
  return { status: reply.status, code: reply.body.error?.code, text: reply.text, headers: reply.headers }
}

beforeAll(async () => {
  t = await startTestService({ routes: () => [countRuns], env: { RATE_LIMITER: 'off' } })
  acme = await mailer(t)
  orgId = acme.orgId
  const projects = await Promise.all(
    ['one', 'two'].map((name) => t.ask('POST', '/api/v1/projects', { key: acme.live, body: { name } })),
  )
  for (const { name, like: _, project, ...options } of kinds) {
    const projectId = project === undefined ? null : (projects[project]?.body.id as string)
    const make = () => t.key(orgId, { ...options, projectId })
    keyOf.set(name, [await make(), await make()])
  }
})
afterAll(() => t.stop())
beforeEach(() => {
  runs = 0
})

const pairs = kinds.flatMap((recorder) => kinds.map((repeater) => [recorder, repeater] as const))

describe('a recorded response', () => {
  test.each(pairs.map(([a, b]) => [a.name, b.name, b.like === 'all' || a.like === b.like] as const))(
    'of a key with %s is replayed to another key with %s: %s',
    async (recorder, repeater, replayed) => {
      const idempotencyKey = `${recorder} / ${repeater}`
      const recorded = await send(recorder, 0, idempotencyKey)
      expect(recorded).toMatchObject({ status: 200, text: '{"run":1}' })
      const repeat = await send(repeater, 1, idempotencyKey)
      if (replayed) {
        expect([repeat.status, repeat.text, repeat.headers['idempotent-replayed']]).toEqual([
          200,
          recorded.text,
          'true',
        ])
      } else {
        expect([repeat.status, repeat.code, repeat.headers['idempotent-replayed']]).toEqual([
          409,
          'IDEMPOTENCY_MISMATCH',
          undefined,
        ])
        expect(repeat.text).not.toContain('run')
      }
      const own = await send(recorder, 0, idempotencyKey)
      expect([own.text, own.headers['idempotent-replayed'], runs]).toEqual([recorded.text, 'true', 1])
    },
  )

  test('of an earlier release is replayed to every key, as it was then', async () => {
    await send('unrestricted', 0, 'earlier')
    await t.database.sql("update idempotency_keys set bindings = null where key = 'earlier'")
    for (const { name } of kinds) expect((await send(name, 0, 'earlier')).text, name).toBe('{"run":1}')
    expect(runs).toBe(1)
  })

  test('belongs to the restrictions of the latest request after the key expired', async () => {
    await send('one project', 0, 'reused')
    await t.database.sql("update idempotency_keys set expires_at = created_at where key = 'reused'")
    expect((await send('another project', 0, 'reused')).text).toBe('{"run":2}')
    expect((await send('one project', 0, 'reused')).code).toBe('IDEMPOTENCY_MISMATCH')
    expect((await send('another project', 1, 'reused')).text).toBe('{"run":2}')
    expect(runs).toBe(2)
  })
})

test('while a request runs, a key with other restrictions gets the mismatch, not that it is in progress', async () => {
  const hold = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  pause = hold.promise
  started = begun.resolve
  const running = send('unrestricted', 0, 'running')
  await begun.promise
  const [other, same] = [await send('one project', 0, 'running'), await send('unrestricted', 1, 'running')]
  hold.resolve()
  pause = undefined
  expect([other.code, same.code, (await running).status]).toEqual([
    'IDEMPOTENCY_MISMATCH',
    'IDEMPOTENCY_IN_FLIGHT',
    200,
  ])
  expect(runs).toBe(1)
})

test('an interrupted request is taken up by a key with the same or no restrictions, and by no other', async () => {
  const takes = async (recorder: string, repeater: string) => {
    const key = `interrupted ${recorder} / ${repeater}`
    await send(recorder, 0, key)
    await interrupt(t, key)
    const { status, code } = await send(repeater, 1, key)
    return code ?? status
  }
  expect(await takes('one project', 'one project')).toBe(200)
  expect(await takes('one project', 'unrestricted')).toBe(200)
  expect(await takes('one project', 'another project')).toBe('IDEMPOTENCY_MISMATCH')
  expect(await takes('unrestricted', 'one project')).toBe('IDEMPOTENCY_MISMATCH')
})

test('a project-bound key does not get the response to a send of an org key, and sends nothing', async () => {
  const how = (key: string) => ({ key, headers: { 'idempotency-key': 'sent' } })
  const sent = await t.ask('POST', '/api/v1/emails', { ...how(acme.live), body: mail() })
  expect(sent.status).toBe(200)
  const before = await acme.traces()
  for (const name of ['one project', 'one domain']) {
    const repeat = await t.ask('POST', '/api/v1/emails', { ...how(keyOf.get(name)?.[0] as string), body: mail() })
    expect([repeat.status, repeat.body.error.code], name).toEqual([409, 'IDEMPOTENCY_MISMATCH'])
    expect(repeat.text).not.toContain(sent.body.id)
  }
  expect(await acme.traces()).toEqual(before)
})
