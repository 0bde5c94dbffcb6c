import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withTrail } from '../../../test/audit/trail.ts'
import { dltClient } from '../../../test/clients/dlt-client.ts'
import { watchTables } from '../../../test/expect/refusal.ts'
import { startTestService, type TestService } from '../../../test/service/service.ts'
import { readConfig } from '../../platform/ground/config/config.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { ops as runOps } from './ops.ts'

let t: TestService
beforeAll(async () => {
  t = await startTestService({ env: { SMS_PROVIDER: 'smpp', SMPP_URL: 'smpp://user:secret@127.0.0.1:2775' } })
})
afterAll(() => t.stop())

const set = async (...args: string[]) => {
  let stdout = ''
  const config = readConfig({ DATABASE_URL: t.database.url })
  const fault = await runOps(config, silentLog(), ['dlt', 'set', ...args, '--json'], (text) => {
    stdout += text
  }).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { shown: stdout === '' ? undefined : JSON.parse(stdout), fault }
}
const by = ['--operator', 'ann']
const templateId = '1007123456789012345'

describe('ops dlt set', () => {
  test('X-120 records an approval with its template id, an event and an audit entry', async () => {
    const acme = await t.org()
    const dlt = dltClient(t, acme)
    const orgId = acme.org.id
    const template = await dlt.template()
    const { result, trail } = await withTrail(t.database, orgId, () =>
      set(orgId, template, '--status', 'approved', '--template-id', templateId, ...by),
    )
    expect(result).toEqual({
      fault: undefined,
      shown: {
        id: template,
        status: 'approved',
        provider_template_id: templateId,
        rejection_reason: null,
        updated_at: expect.any(String),
      },
    })
    expect((await dlt.get('templates', template)).body).toMatchObject({
      status: 'approved',
      provider_template_id: templateId,
    })
    expect(trail).toMatchObject([
      {
        action: 'dlt.updated',
        resource_type: 'dlt',
        resource_id: template,
        actor_user_id: null,
        metadata: {
          status: 'approved',
          provider_template_id: templateId,
          reason: null,
          operator: 'ann',
          via: 'system',
        },
      },
    ])
    const fired = () =>
      t.database.sql("select event, data from events where org_id = $1 and event like 'dlt.%'", [orgId])
    const data = { id: template, status: 'approved', name: 'OTP', entity_id: '1101234567890123456' }
    const approved = [{ event: 'dlt.template_approved', data: { ...data, provider_template_id: templateId } }]
    expect(await fired()).toEqual(approved)
    // The same again changes nothing, and keeps the template id.
    const again = await withTrail(t.database, orgId, () => set(orgId, template, '--status', 'approved', ...by))
    expect([again.result.shown.provider_template_id, again.trail]).toEqual([templateId, []])
    expect(await fired()).toEqual(approved)
  })

  test('X-120 records a rejection with its reason', async () => {
    const acme = await t.org()
    const dlt = dltClient(t, acme)
    const template = await dlt.template()
    await set(acme.org.id, template, '--status', 'submitted', ...by)
    expect((await dlt.get('templates', template)).body.status).toBe('submitted')
    await set(acme.org.id, template, '--status', 'rejected', '--reason', 'Unclear text.', ...by)
    expect((await dlt.get('templates', template)).body).toMatchObject({
      status: 'rejected',
      rejection_reason: 'Unclear text.',
      provider_template_id: null,
    })
    const fired = await t.database.sql<{ event: string; data: object }>(
      "select event, data from events where org_id = $1 and event like 'dlt.%'",
      [acme.org.id],
    )
    expect(fired).toMatchObject([{ event: 'dlt.template_rejected', data: { id: template, reason: 'Unclear text.' } }])
  })

  test('records entities and headers without an event', async () => {
    const acme = await t.org()
    const dlt = dltClient(t, acme)
    const header = await dlt.header()
    const { entity } = (await dlt.get('headers', header)).body
    await set(acme.org.id, entity, '--status', 'approved', ...by)
    await set(acme.org.id, header, '--status', 'rejected', '--reason', 'Taken.', ...by)
    expect((await dlt.get('entities', entity)).body.status).toBe('approved')
    expect((await dlt.get('headers', header)).body).toMatchObject({ status: 'rejected', rejection_reason: 'Taken.' })
    expect(
      await t.database.sql("select 1 from events where org_id = $1 and event like 'dlt.%'", [acme.org.id]),
    ).toEqual([])
  })

  test('refuses what it cannot record, and changes nothing', async () => {
    const [acme, away] = [await t.org(), await t.org({ name: 'Away' })]
    const dlt = dltClient(t, acme)
    const template = await dlt.template()
    const { entity } = (await dlt.get('templates', template)).body
    const orgId = acme.org.id
    const leavesNoTrace = await watchTables(t.database)
    const faults: [string[], string][] = [
      [[orgId, 'x', '--status', 'approved', ...by], 'A DLT id (dle_…, dlh_… or dlt_…) is required.'],
      [[orgId, template, ...by], '--status is required.'],
      [[orgId, template, '--status', 'pending', ...by], '--status must be one of submitted, approved, rejected.'],
      [[orgId, template, '--status', 'approved'], '--operator is required.'],
      [[orgId, template, '--status', 'approved', '--template-id', '1007', ...by], '--template-id must have 19 digits.'],
      [
        [orgId, entity, '--status', 'approved', '--template-id', templateId, ...by],
        '--template-id is only for a template that is approved.',
      ],
      [
        [orgId, template, '--status', 'approved', '--reason', 'Good.', ...by],
        '--reason is only for a rejected registration.',
      ],
      [
        [away.org.id, template, '--status', 'approved', ...by],
        `Org ${away.org.id} has no DLT registration ${template}.`,
      ],
      [[newId('org'), template, '--status', 'approved', ...by], 'does not exist.'],
    ]
    await leavesNoTrace(async () => {
      for (const [args, text] of faults) {
        const { fault } = await set(...args)
        expect(fault).toBeInstanceOf(OperatorFault)
        expect((fault as OperatorFault).message).toContain(text)
      }
    })
  })
})
