import { afterAll, expect, test } from 'vitest'
import { primaryOwner } from '../../../test/clients/team-client.ts'
import { startTestService } from '../../../test/service/service.ts'
import type { MovableClock } from '../../platform/ground/clock.ts'
import { makeHealth } from './watch-parts.ts'

const t = await startTestService()
afterAll(() => t.stop())
const clock = t.service.clock as MovableClock
const day = 86_400_000

test('A-363 each part gets a row a minute, the status shows them, and rows go after 30 days', async () => {
  const { org } = await t.org()
  const parts = ['database', 'limiter', 'email_provider', 'sms_provider', 'worker']
  const ask = async () => (await (await primaryOwner(t, org.id)).ask('GET', '/api/internal/status')).body
  const unknown = await ask()
  expect(unknown.state).toBe('unknown')
  expect(unknown.parts.map(({ part }: { part: string }) => part)).toEqual(parts)
  const record = () => t.service.tasks.health?.run()
  // A whole minute, so that both runs are in the same one.
  clock.advance(60_000 - (clock.millis() % 60_000))
  expect([await record(), await record()]).toEqual([{ parts_down: 0 }, { parts_down: 0 }])
  expect(await t.database.sql('select part, state from health_probes order by part')).toEqual(
    parts.toSorted().map((part) => ({ part, state: 'up' })),
  )
  clock.advance(60_000)
  const { db } = t.service
  const failing = makeHealth({
    db,
    clock,
    probes: {
      database: async () => {
        throw new Error('away')
      },
    },
  })
  expect(await failing.record()).toBe(1)
  const status = await ask()
  expect(status.state).toBe('down')
  expect(status.parts[0]).toMatchObject({
    part: 'database',
    state: 'down',
    last_30_days: { minutes: 2, up_percent: 50, days: [{ minutes: 2, up_percent: 50 }] },
  })
  expect(status.parts[1]).toMatchObject({ part: 'limiter', state: 'up', last_30_days: { minutes: 1, up_percent: 100 } })
  clock.advance(30 * day - 120_000)
  expect(await t.service.tasks.retention?.run()).toMatchObject({ health_probes_deleted: 0 })
  clock.advance(60_000)
  expect(await t.service.tasks.retention?.run()).toMatchObject({ health_probes_deleted: 5 })
  expect(await t.database.sql('select part from health_probes')).toEqual([{ part: 'database' }])
})
