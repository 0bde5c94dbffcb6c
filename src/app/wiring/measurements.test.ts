import { afterAll, expect, test } from 'vitest'
import { mail, post } from '../../../test/clients/mailer.ts'
import { startWebhookService, webhookClient } from '../../../test/clients/webhook-client.ts'
import { makeMetrics } from '../../interfaces/http/metrics.ts'
import { openDb } from '../../platform/db/pool.ts'
import { statement } from '../../platform/db/statement.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { makeRedisLimiter } from '../../platform/limits/redis.ts'
import { makeMeasurements } from './measurements.ts'

const t = await startWebhookService()
afterAll(() => t.stop())

/** The value of a series, by its name with its labels. */
const seriesIn = (text: string, name: string): number | undefined => {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}
const scrape = async (name: string) => seriesIn((await t.ask('GET', '/metrics')).text, name)

test('a handover, an attempt and their lags are measured by outcome', async () => {
  const org = await t.org()
  const acme = webhookClient(t, org)
  const endpoint = await acme.made({ events: ['message.sent'] }, (_, response, nth) => {
    response.statusCode = nth === 1 ? 500 : 204
    response.end()
  })
  const send = (more = {}) => t.ask('POST', post, { key: org.keys.live, body: mail(more) })
  expect((await send()).status).toBe(200)
  expect((await send({ to: ['refused@simulator.tidings.test'] })).status).toBe(500)
  await acme.run()
  await acme.advance(3_600)
  await acme.run()
  expect(endpoint.receiver.got).toHaveLength(2)
  const handovers = 'provider_handover_seconds_count{channel="email",provider="local",outcome='
  expect(await scrape(`${handovers}"accepted"}`)).toBe(1)
  expect(await scrape(`${handovers}"refused"}`)).toBe(1)
  expect(await scrape('webhook_attempt_seconds_count{outcome="rejected"}')).toBe(1)
  expect(await scrape('webhook_attempt_seconds_count{outcome="delivered"}')).toBe(1)
  expect(await scrape('queue_claim_lag_seconds_count{queue="deliveries"}')).toBe(2)
  expect(await scrape('queue_claim_lag_seconds_bucket{le="60",queue="deliveries"}')).toBe(1)
})

test('the metrics show every queue, with 0 while nothing waits', async () => {
  const { text } = await t.ask('GET', '/metrics')
  const queues = [...text.matchAll(/^queue_oldest_seconds\{queue="(\w+)",state="(\w+)"\}/gm)].map(([, queue]) => queue)
  expect(queues).toHaveLength(15)
  expect(seriesIn(text, 'queue_oldest_seconds{queue="exports",state="queued"}')).toBe(0)
})

test('a call that waits for a database connection is measured, and one that does not is not', async () => {
  const waited: number[] = []
  const db = openDb({
    url: t.database.url,
    log: silentLog(),
    poolSize: 2,
    poolWaited: (seconds) => waited.push(seconds),
  })
  const sleep = statement<{ seconds: number }, { slept: string }>(
    'test.sleep',
    `select pg_sleep(:seconds::float)::text as slept`,
  )
  await Promise.all([db.rows(sleep, { seconds: 0.01 }), db.rows(sleep, { seconds: 0.01 })])
  expect(waited).toEqual([])
  expect(db.pool()).toEqual({ busy: 0, idle: 2, waiting: 0 })
  const four = [1, 2, 3].map(() => db.rows(sleep, { seconds: 0.2 }))
  four.push(db.tx((tx) => tx.rows(sleep, { seconds: 0 })))
  await expect.poll(() => db.pool(), { interval: 5 }).toEqual({ busy: 2, idle: 0, waiting: 2 })
  await Promise.all(four)
  expect(waited).toHaveLength(2)
  await db.close()
})

test('a call that passes without a limit because Redis does not respond is counted', async () => {
  const metrics = makeMetrics()
  const { limiterFault: countFault } = makeMeasurements(metrics)
  const limiter = await makeRedisLimiter({ url: 'redis://127.0.0.1:1', log: silentLog(), countFault })
  expect(await limiter.take([{ name: '{a}', limit: 1, windowMs: 1_000 }], 0)).toBeNull()
  expect(seriesIn(await metrics.text(), 'rate_limiter_faults_total')).toBe(1)
  await limiter.close()
})
