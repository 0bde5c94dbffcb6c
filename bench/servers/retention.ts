/** Removes a month of messages while others are sent. */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Agent, request } from 'undici'
import { build } from '../../src/app/wiring/build.ts'
import { monthAt, partitionOf, timeLiteral } from '../../src/platform/db/months.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { percentile } from '../figures.ts'
import type { Sample } from '../results.ts'
import { fill } from './filled.ts'
import { workBench } from './work.ts'

type Params = { databaseUrl: string; messages: number; how: 'drop' | 'empty' | 'delete' }

const retentionDays = 31
/** How many messages stay decides how retention removes the others. */
const staying = { drop: 0, empty: 1_000, delete: 10_000 }
const jobs = 1_000
const quietMs = 5_000
/** So that the clients leave most of the processor to the removal. */
const pauseMs = 20
const dayMs = 86_400_000

const month = monthAt(systemClock.now(), -4)
const partition = partitionOf('messages', month)

/** Attaching builds the indexes, which takes a fraction of the time that inserting into them does. */
const fillMonth = async (client: pg.Client, orgId: string, messages: number, left: number): Promise<void> => {
  const stays = left > 0 ? `n % ${messages / left} = 0` : 'false'
  const at = `${timeLiteral(month.from)} + n * interval '${(27 * 86_400) / messages} seconds'`
  const dueAt = timeLiteral(new Date(systemClock.millis() + 30 * dayMs))
  await client.query("set statement_timeout = 0; set maintenance_work_mem = '512MB'; set synchronous_commit = off")
  await client.query(
    `insert into jobs (org_id, id, environment, project_id, audience_id, channel, status, from_address, template, total,
       created_at)
     select $1, 'job_' || n, 'live', 'prj', 'aud', 'email', 'completed', 'hello@example.test', 'news', 0,
       ${timeLiteral(month.from)}
     from generate_series(0, ${jobs - 1}) n`,
    [orgId],
  )
  await client.query(`create table ${partition} (like messages including defaults including constraints)`)
  await client.query(
    `insert into ${partition} (org_id, id, created_at, environment, project_id, channel, status, from_address,
       to_addresses, subject, text, sent_at, scheduled_at, due_at, job_id, history, marks)
     select $1, 'msg_' || lpad(n::text, 26, '0'), ${at}, 'live', 'prj', 'email',
       case when ${stays} then 'scheduled' else 'delivered' end, 'hello@example.test',
       array['reader' || n || '@example.com'], 'A receipt', 'Thank you for your order. ' || repeat('x', 100),
       case when not ${stays} then ${at} end, case when ${stays} then ${dueAt} end, case when ${stays} then ${dueAt} end,
       case when n % 2 = 0 then 'job_' || (n::bigint - 1) * ${jobs} / ${messages} end,
       '[{"status":"sent","at":"2026-01-01T00:00:00.000Z"},{"status":"delivered","at":"2026-01-01T00:00:01.000Z"}]',
       array[n, -n]
     from generate_series(1, ${messages}) n`,
    [orgId],
  )
  await client.query(
    `alter table messages attach partition ${partition}
     for values from (${timeLiteral(month.from)}) to (${timeLiteral(month.to)})`,
  )
  await client.query(`vacuum analyze ${partition}`)
}

const sizeOf = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query<{ bytes: number }>(
    'select coalesce(pg_total_relation_size(to_regclass($1)), 0)::float8 as bytes',
    [partition],
  )
  return rows[0]!.bytes / 1_000_000
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

workBench(async ({ databaseUrl, messages, how }: Params) => {
  const filled = await fill(databaseUrl)
  const { config, log, orgId, key } = filled
  await filled.close()
  const service = await build({ ...config, messageRetentionDays: retentionDays, rateLimiter: 'off' }, databaseUrl, log)
  const { db } = service
  await service.tasks.upkeep!.run()
  const url = await service.startApi()
  const agent = new Agent({ connections: 50 })
  const email = { from: 'hello@example.test', to: ['ann@reader.test'], subject: 'A subject', text: 'Hi' }
  const send = async (): Promise<number> => {
    const began = performance.now()
    const { statusCode, body } = await request(`${url}/api/v1/emails`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(email),
    })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`a send failed: ${statusCode} ${text}`)
    return performance.now() - began
  }
  /** Sends until the work is done. Returns the result of the work and how long each send took, in ascending order. */
  const whileSending = async (clients: number, work: () => Promise<number>): Promise<[number, Float64Array]> => {
    const took: number[] = []
    let working = true
    const client = async () => {
      while (working) {
        took.push(await send())
        await sleep(pauseMs)
      }
    }
    const sending = Promise.all(Array.from({ length: clients }, client))
    const result = await work().finally(() => {
      working = false
    })
    await sending
    return [result, Float64Array.from(took).sort()]
  }

  const remove = async (): Promise<number> => (await service.modules.messages.retention.remove()).messages

  const measure = async (clients: number): Promise<Sample> => {
    const client = await db.connect()
    try {
      await fillMonth(client, orgId, messages, staying[how])
      const full = await sizeOf(client)
      const [, quiet] = await whileSending(clients, () => sleep(quietMs, 0))
      const began = performance.now()
      const [removed, sends] = await whileSending(clients, remove)
      const removedMs = performance.now() - began
      const left = await sizeOf(client)
      const expected = messages - staying[how]
      if (removed !== expected) throw new Error(`${removed} messages were removed, not ${expected}`)
      // What a deletion leaves to the vacuum is part of its time.
      if (how === 'delete') await client.query(`vacuum ${partition}`)
      const tookMs = how === 'delete' ? performance.now() - began : removedMs
      const vacuum =
        how === 'delete'
          ? `, and ${seconds(tookMs - removedMs)} s for a vacuum, which leaves ${(await sizeOf(client)).toFixed(0)} MB`
          : ''
      await client.query(`drop table if exists ${partition}`)
      const note = `${how}: ${removed.toLocaleString('en-US')} messages in ${seconds(removedMs)} s, ${left.toFixed(0)} of ${full.toFixed(0)} MB left${vacuum}; the longest of ${sends.length} sends meanwhile took ${sends.at(-1)?.toFixed(0)} ms, of ${quiet.length} before ${quiet.at(-1)?.toFixed(0)} ms`
      return {
        perSecond: (removed * 1_000) / tookMs,
        p50Ms: percentile(sends, 50),
        p99Ms: percentile(sends, 99),
        notes: [note],
      }
    } finally {
      await client.end()
    }
  }

  return {
    one: async () => {
      await send()
    },
    whole: measure,
    close: async () => {
      await agent.close()
      await service.stop()
    },
  }
})
