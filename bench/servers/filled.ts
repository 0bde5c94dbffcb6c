/** Creates an org with any number of messages. */
import { randomBytes } from 'node:crypto'
import { makeCreateOrg } from '../../src/app/operator/create-org.ts'
import { setPlan } from '../../src/customers/orgs/store.ts'
import { findDefaultProject } from '../../src/customers/projects/store.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { openDb } from '../../src/platform/db/pool.ts'
import { statement } from '../../src/platform/db/statement.ts'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { type Config, readConfig } from '../../src/platform/ground/config/config.ts'
import { makeVault } from '../../src/platform/ground/crypto.ts'
import { newId, timeOfId } from '../../src/platform/ground/ids.ts'
import { type Log, makeLog } from '../../src/platform/ground/log.ts'

/** Sent over this many days up to now, and every second message by one of this many jobs. */
export type Spread = { days: number; jobs: number }

export type Filled = {
  config: Config & { masterKey: Buffer }
  log: Log
  orgId: string
  /** A live key. */
  key: string
  ids: string[]
  /** Adds messages: scheduled for `dueAt`, or already sent if it is null. */
  add(count: number, dueAt: Date | null, spread?: Spread): Promise<void>
  /** Makes all messages part of one job. */
  joinToJob(): Promise<void>
  close(): Promise<void>
}

const chunk = 10_000

export const benchConfig = () => ({
  log: makeLog({ level: 'info', format: 'json', destination: '/dev/null' }),
  config: { ...readConfig({ PORT: '0', AUDIT_SIGNING_SECRET: 'bench' }), masterKey: randomBytes(32) },
})

const findOrg = statement<object, { id: string; owner_user_id: string }>(
  'bench.find_org',
  'select id, owner_user_id from orgs limit 1',
)

/** For contenders that share a database: the first one fills it, which leaves memory behind in its process. */
export const fillOnce = async (databaseUrl: string, fillIt: () => Promise<void>) => {
  const { config, log } = benchConfig()
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  if (!(await db.row(findOrg))) await fillIt()
  const org = await db.row(findOrg)
  await db.close()
  if (!org) throw new Error('the database has no org')
  return { config, log, org }
}

export const fill = async (databaseUrl: string): Promise<Filled> => {
  const { log, config } = benchConfig()
  const db = openDb({ url: databaseUrl, log, poolSize: 1 })
  await migrate({ connect: db.connect, clock: systemClock, log })
  const { create } = makeCreateOrg({
    db,
    clock: systemClock,
    baseUrl: 'http://127.0.0.1',
    serviceDomain: config.serviceDomain,
    vault: makeVault(config.masterKey),
  })
  const { org, keys } = await create({ name: 'Bench', plan: 'enterprise', withSenders: true })
  await db.row(setPlan, {
    orgId: org.id,
    plan: 'enterprise',
    rate: null,
    email: 1e12,
    sms: 1e12,
    at: systemClock.now(),
  })
  const project = await db.row(findDefaultProject, { orgId: org.id })
  const client = await db.connect()
  await client.query('set statement_timeout = 0')
  const ids: string[] = []
  return {
    config,
    log,
    orgId: org.id,
    key: keys.live,
    ids,
    add: async (count, dueAt, spread = { days: 1, jobs: 0 }) => {
      const status = dueAt ? 'scheduled' : 'sent'
      for (let made = 0; made < count; made += chunk) {
        const some = Array.from({ length: Math.min(chunk, count - made) }, () => newId('message'))
        ids.push(...some)
        await client.query(
          `insert into messages (org_id, id, created_at, environment, project_id, channel, status, from_address,
             to_addresses, subject, html, text, scheduled_at, due_at, sent_at, job_id, history)
           select $1, id, at, 'live', $2, 'email', $5, 'hello@example.test', array['user' || n || '@example.com'],
             'A receipt', '<p>Thank you.</p>', 'Thank you.', $6, $6, case when $5 = 'sent' then at - n % $7 * interval '1 day' end,
             case when n % 2 = 0 and $8 > 0 then 'job_' || n / 2 % $8 end, '[]'
           from unnest($3::text[], $4::timestamptz[]) with ordinality as i (id, at, n)`,
          [
            org.id,
            project?.id,
            some,
            some.map((id) => new Date(timeOfId(id))),
            status,
            dueAt,
            spread.days,
            spread.jobs,
          ],
        )
      }
    },
    joinToJob: async () => {
      const id = newId('job')
      await client.query(
        `insert into jobs (org_id, id, environment, project_id, audience_id, channel, status, from_address, template,
           total, starts_at, ends_at, created_at)
         values ($1, $2, 'live', $3, 'aud_bench', 'email', 'scheduled', 'hello@example.test', 'bench', 0, $4, $4, $4)`,
        [org.id, id, project?.id, systemClock.now()],
      )
      await client.query('update messages set job_id = $2 where org_id = $1', [org.id, id])
    },
    close: async () => {
      await client.query('vacuum analyze messages')
      await client.end()
      await db.close()
    },
  }
}
