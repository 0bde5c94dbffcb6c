/** The operator command that sets the countries of an org's text messages. */
import { afterAll, describe, expect, test } from 'vitest'
import { trailOf } from '../../../test/audit/trail.ts'
import { text, texter } from '../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService } from '../../../test/service/service.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { ops as runOps } from './ops.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const ops = async (...args: string[]) => {
  let stdout = ''
  const config = readConfig({ DATABASE_URL: t.database.url })
  const fault = await runOps(config, silentLog(), ['org', 'sms-geo', ...args], (line) => {
    stdout += line
  }).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { stdout, fault }
}
const stored = async (orgId: string) =>
  (await t.database.sql<{ sms_geo: string | null }>('select sms_geo from orgs where id = $1', [orgId]))[0]?.sms_geo
const entriesOf = async (orgId: string) =>
  (await trailOf(t.database, orgId)).filter(({ action }) => action === 'org.sms_geo_updated')

describe('tidings ops org sms-geo', () => {
  test('S-208 A-199 R-37 stores the list and writes an audit entry without an actor, with the stored list', async () => {
    const own = await texter(t)
    const steps: [given: string, kept: string | null, shown: string[] | null, said: string][] = [
      ['gb,US,xk,US', 'GB,US,XK', ['GB', 'US', 'XK'], `${own.orgId} may send SMS to GB, US, XK.\n`],
      ['none', '', [], `${own.orgId} may not send SMS.\n`],
      ['any', null, null, `${own.orgId} may send SMS to every country.\n`],
    ]
    const expected: unknown[] = []
    for (const [given, kept, shown, said] of steps) {
      expect(await ops(own.orgId, given, '--operator', 'ann')).toEqual({ stdout: said, fault: undefined })
      expect(await stored(own.orgId)).toBe(kept)
      expected.push(
        expect.objectContaining({
          actor_user_id: null,
          resource_type: 'org',
          resource_id: own.orgId,
          ip_address: null,
          metadata: { countries: shown, operator: 'ann', via: 'system' },
        }),
      )
    }
    expect(await entriesOf(own.orgId)).toEqual(expected)
    const json = await ops(own.orgId, 'any', '--operator', 'ann', '--json')
    expect(JSON.parse(json.stdout)).toEqual({ id: own.orgId, sms_geo: null })
    expect(await entriesOf(own.orgId), 'an unchanged list writes no entry').toHaveLength(3)
  })

  test('S-210 R-37 a running service applies the list to the next send', async () => {
    const own = await texter(t)
    expect((await own.send(text())).status).toBe(200)
    await ops(own.orgId, 'GB', '--operator', 'ann')
    await expect.poll(async () => (await own.send(text())).status).toBe(403)
    expectRefusal(await own.send(text()), 'SMS_DESTINATION_NOT_ALLOWED')
    expect((await own.send(text({ to: '+447700900123' }))).status).toBe(200)
    await ops(own.orgId, 'any', '--operator', 'ann')
    await expect.poll(async () => (await own.send(text())).status).toBe(200)
  })

  test('R-37 rejects an unknown org, a missing operator and anything that is not a list of countries', async () => {
    const own = await texter(t)
    const faults: [args: string[], message: string][] = [
      [[newId('org'), 'US', '--operator', 'ann'], 'does not exist'],
      [['nobody', 'US', '--operator', 'ann'], 'An org id'],
      [[own.orgId, 'US'], '--operator is required'],
      [[own.orgId, '--operator', 'ann'], 'Countries are required'],
      [[own.orgId, '', '--operator', 'ann'], 'Countries are required'],
      [[own.orgId, 'US,ZZ', '--operator', 'ann'], 'Unknown country: ZZ'],
      [[own.orgId, 'US,', '--operator', 'ann'], 'Unknown country'],
      [[own.orgId, 'USA', '--operator', 'ann'], 'Unknown country: USA'],
    ]
    for (const [args, message] of faults) {
      const { fault } = await leavesNoTrace(() => ops(...args))
      expect(fault, args.join(' ')).toBeInstanceOf(OperatorFault)
      expect((fault as OperatorFault).message).toContain(message)
    }
  })
})
