import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { exchange } from '../../../test/hostile/wire.ts'
import { type LogFile, openLogFile } from '../../../test/service/log-file.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { byKey, defineRoute } from './route.ts'

const crash = defineRoute('GET', '/probes/crash', byKey('read:suppressions'), {
  tag: 'Probes',
  summary: 'Fails',
  responses: { 200: { schema: z.object({}), description: 'Never.' } },
  handle: async () => {
    throw new Error('its own message')
  },
})

let t: TestService
let logFile: LogFile
let key: string
let orgId: string
beforeAll(async () => {
  logFile = await openLogFile()
  t = await startTestService({ log: logFile.log, routes: () => [crash] })
  const { keys, org } = await t.org()
  key = keys.live
  orgId = org.id
})
afterAll(async () => {
  await t.stop()
  await logFile.remove()
})

/** All lines of a request. A later request is logged after them, so none can be missing. */
const linesOf = async (id: unknown) => {
  const end = (await t.ask('GET', '/healthz')).headers['x-request-id']
  const lines = async () => (await logFile.text()).split('\n').filter((line) => line.includes('"request_id"'))
  await expect.poll(async () => (await lines()).some((line) => line.includes(String(end)))).toBe(true)
  return (await lines()).map((line) => JSON.parse(line)).filter(({ request_id }) => request_id === id)
}

const common = () => ({
  time: expect.any(String),
  method: 'GET',
  ms: expect.any(Number),
  org_id: orgId,
  key_id: expect.stringMatching(/^key_/),
})

test('A served request and a refused one have one line each, with the message request', async () => {
  const served = (await t.ask('GET', '/api/v1/suppressions', { key })).headers['x-request-id']
  const refused = (await t.ask('GET', '/api/v1/suppressions?limit=x', { key })).headers['x-request-id']
  const route = '/api/v1/suppressions'
  expect(await linesOf(served)).toEqual([
    { ...common(), level: 30, request_id: served, route, status: 200, msg: 'request' },
  ])
  expect(await linesOf(refused)).toEqual([
    { ...common(), level: 30, request_id: refused, route, status: 422, msg: 'request' },
  ])
})

test('A request that fails with 500 has one line, with the message request failed and the cause', async () => {
  const reply = await t.ask('GET', '/api/v1/probes/crash', { key })
  const id = reply.headers['x-request-id']
  expect(reply.status).toBe(500)
  expect(await linesOf(id)).toEqual([
    {
      ...common(),
      level: 50,
      request_id: id,
      route: '/api/v1/probes/crash',
      status: 500,
      err: expect.objectContaining({ message: 'its own message', stack: expect.stringContaining('its own message') }),
      msg: 'request failed',
    },
  ])
})

test('A request that is not valid HTTP has one line with its request id', async () => {
  const { answers } = await exchange(t.url, 'NOT HTTP\r\n\r\n', { untilClosed: true })
  const id = answers[0]?.headers['x-request-id']
  expect(answers[0]?.status).toBe(422)
  expect(await linesOf(id)).toEqual([
    { level: 30, time: expect.any(String), request_id: id, route: 'unknown', status: 422, msg: 'request' },
  ])
})
