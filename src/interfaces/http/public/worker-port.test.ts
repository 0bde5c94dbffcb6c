import { expect, test } from 'vitest'
import { testService } from '../../../../test/service/service.ts'

const asking =
  (port: number) =>
  async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    const text = await response.text()
    return { status: response.status, text }
  }

test('The port of the worker is ready once the worker runs, and has health and metrics only', async () => {
  const t = await testService()
  const { keys } = await t.org()
  const ask = asking(await t.service.startWorkerHttp(0))
  expect(await ask('/healthz')).toEqual({ status: 200, text: '{"status":"ok"}' })
  expect(await ask('/readyz')).toEqual({ status: 503, text: '{"status":"not_ready"}' })
  await t.service.startWorker()
  expect(await ask('/readyz')).toEqual({ status: 200, text: '{"status":"ready"}' })
  const metrics = await ask('/metrics')
  expect([metrics.status, metrics.text.includes('process_resident_memory_bytes')]).toEqual([200, true])

  const headers = { authorization: `Bearer ${keys.live}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ channel: 'email', value: 'a@example.com' })
  for (const { status, text } of [
    await ask('/'),
    await ask('/docs'),
    await ask('/api/openapi.json'),
    await ask('/api/v1/suppressions', { headers }),
    await ask('/api/v1/suppressions', { method: 'POST', headers, body }),
    await ask('/api/dev/clock', { method: 'POST', headers, body: '{"advance_seconds":1}' }),
  ]) {
    expect([status, JSON.parse(text).error.code]).toEqual([404, 'NOT_FOUND'])
  }
  expect(await t.database.sql('select count(*)::int as n from suppressions')).toEqual([{ n: 0 }])
})

test('Metrics of the worker have the rules of the API: this machine, or the token', async () => {
  const open = await testService()
  const ask = asking(await open.service.startWorkerHttp(0))
  expect((await ask('/metrics', { headers: { 'x-forwarded-for': '203.0.113.9' } })).status).toBe(404)
  const guarded = await testService({ env: { METRICS_TOKEN: 'a-long-enough-token' } })
  const askGuarded = asking(await guarded.service.startWorkerHttp(0))
  expect((await askGuarded('/metrics')).status).toBe(404)
  expect((await askGuarded('/metrics', { headers: { authorization: 'Bearer a-long-enough-tokem' } })).status).toBe(404)
  expect((await askGuarded('/metrics', { headers: { authorization: 'Bearer a-long-enough-token' } })).status).toBe(200)
})

test('While the worker drains, its port still answers and is not ready', async () => {
  const t = await testService()
  const ask = asking(await t.service.startWorkerHttp(0))
  await t.service.startWorker()
  await t.service.leave()
  expect((await ask('/healthz')).status).toBe(200)
  expect((await ask('/readyz')).status).toBe(503)
})
