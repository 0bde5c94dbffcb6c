import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { interrupt } from '../../../test/clients/interrupt.ts'
import { startTestService } from '../../../test/service/service.ts'
import { type Db, openDb } from '../db/pool.ts'
import { sha256 } from '../ground/crypto.ts'
import { silentLog } from '../ground/log.ts'
import { makeIdempotency } from './claims.ts'

const t = await startTestService()
afterAll(() => t.stop())

let orgId: string
beforeEach(async () => {
  orgId = (await t.org()).org.id
})

/** A process whose connection breaks after the database has stored its claim. */
const losing = () => {
  const db = openDb({ url: t.database.url, log: silentLog() })
  onTestFinished(() => db.close())
  const broken: Db = {
    ...db,
    rows: async (...given: Parameters<Db['rows']>) => {
      await db.rows(...given)
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    },
  } as Db
  const { processes } = t.service.modules
  return makeIdempotency({
    db: broken,
    clock: t.service.clock,
    log: silentLog(),
    ttlHours: 24,
    production: true,
    processes,
  })
}

const keys = () =>
  t.database.sql<{ claim: string; first_claim: string | null; process_id: string | null }>(
    'select claim, first_claim, process_id from idempotency_keys where org_id = $1',
    [orgId],
  )
const claimLost = (key: string, fingerprint: Buffer) =>
  losing().claim(
    { orgId, tenantId: null, environment: 'live', projectId: null, allowedDomainIds: null },
    key,
    fingerprint,
  )

test('S-015 a claim whose answer was lost does not keep its key', async () => {
  await expect(claimLost('lost', sha256('a'))).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_FLIGHT' })
  await expect.poll(keys).toEqual([])
})

test('S-015 a key that such a claim took over from an interrupted request keeps the ids of that one', async () => {
  await t.database.sql(
    `insert into idempotency_keys (org_id, environment, key, fingerprint, claim, status, body, created_at, expires_at)
     values ($1, 'live', 'taken', $2, 'req_first', 200, '', $3, $4)`,
    [orgId, sha256('a'), t.service.clock.now(), new Date(t.service.clock.millis() + 86_400_000)],
  )
  await interrupt(t, 'taken')
  await expect(claimLost('taken', sha256('a'))).rejects.toMatchObject({ code: 'IDEMPOTENCY_IN_FLIGHT' })
  await expect.poll(keys).toMatchObject([{ first_claim: 'req_first', process_id: null }])
})
