/** `npm run -s costs`: measures what a send costs, on the embedded PostgreSQL with its usual settings. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Agent, request } from 'undici'
import { sayStarted, startOnlyOption } from '../../scripts/start-only.ts'
import { findEmbedded } from '../../src/db/embedded/supervisor.ts'
import { until } from '../start/launched.ts'
import { type SeveralService, startAlone } from '../start/several-service.ts'
import { costLines, readUsage, usedBetween } from './measure.ts'

const { values } = parseArgs({ options: { sends: { type: 'string', default: '20000' }, ...startOnlyOption } })
const wanted = Number(values.sends)
if (!Number.isSafeInteger(wanted) || wanted < 100) throw new Error('--sends must be a whole number from 100')

const clients = 100
const batchSize = 100

const mail = (n: number) => ({
  from: 'Bench <hello@example.test>',
  to: [`user${n}@example.com`],
  subject: 'A receipt',
  html: '<p>Thank you, <b>Ada</b>.</p>',
  text: 'Thank you, Ada.',
})

const makeSender = (url: string, key: string) => {
  const agent = new Agent({ connections: clients })
  let sent = 0
  const post = async (path: string, body: unknown): Promise<void> => {
    const { statusCode, body: answer } = await request(`${url}${path}`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    if (statusCode >= 300) throw new Error(`status ${statusCode}: ${text}`)
  }
  const run = async (count: number, each: () => Promise<void>): Promise<void> => {
    let left = count
    const work = async () => {
      while (left-- > 0) await each()
    }
    await Promise.all(Array.from({ length: clients }, work))
  }
  return {
    singles: (count: number) => run(count, () => post('/api/v1/emails', mail(sent++))),
    batches: (count: number) =>
      run(count / batchSize, () =>
        post(
          '/api/v1/emails/batch',
          Array.from({ length: batchSize }, () => mail(sent++)),
        ),
      ),
    close: () => agent.close(),
  }
}

/** Events, audit entries and figures that the worker has not processed yet. */
const isSettled = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client.query<{ waiting: boolean }>(
    `select exists (select from events) or exists (select from audit_unlinked)
         or exists (select from analytics_queue) as waiting`,
  )
  return rows[0]?.waiting === false
}

const connect = async ({ folder }: SeveralService): Promise<pg.Client> => {
  const client = new pg.Client((await findEmbedded(join(folder, 'data'))) ?? '')
  await client.connect()
  return client
}

/** Reads what would be measured, without a send. */
const measureNothing = async (service: SeveralService): Promise<void> => {
  const client = await connect(service)
  await readUsage(client, service.child.pid ?? 0, service.folder)
  await client.end()
  sayStarted('the service, and the statistics of its database')
}

const measure = async (service: SeveralService): Promise<void> => {
  const { keys, org } = JSON.parse(await readFile(join(service.folder, 'first.json'), 'utf8'))
  const client = await connect(service)
  const sender = makeSender(service.url(), keys.live)
  const settled = async () => {
    await until('the worker is done', () => isSettled(client), 300_000)
    // An idle session reports its statistics after ten seconds.
    await new Promise((resolve) => setTimeout(resolve, 11_000))
    await client.query('select pg_stat_clear_snapshot()')
  }
  await client.query('update orgs set email_monthly = 1000000000 where id = $1', [org.id])
  await sender.singles(2_000)
  for (const kind of ['singles', 'batches'] as const) {
    await settled()
    const before = await readUsage(client, service.child.pid ?? 0, service.folder)
    await sender[kind](wanted)
    await settled()
    const used = usedBetween(before, await readUsage(client, service.child.pid ?? 0, service.folder))
    const title = kind === 'singles' ? `one email per request, ${clients} clients` : `${batchSize} emails per request`
    process.stdout.write(`${title}, ${wanted} emails, per email:\n  ${costLines(used, wanted).join('\n  ')}\n\n`)
  }
  await sender.close()
  await client.end()
}

const service = await startAlone({ RATE_LIMITER: 'off', LOG_LEVEL: 'warn', AUDIT_SIGNING_SECRET: 'costs' })
try {
  await (values['start-only'] ? measureNothing(service) : measure(service))
} finally {
  await service.close()
}
