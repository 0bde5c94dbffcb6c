/** Codes to India: the registered template, its content, and what is sent to the carrier. */
import { afterAll, expect, test } from 'vitest'
import { verifier } from '../../../test/clients/verifier.ts'
import { expectRefusal, watchTables } from '../../../test/expect/refusal.ts'
import { startTestService, testService } from '../../../test/service/service.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)
const own = await verifier(t)

let numbers = 0
const india = () => `+91987654${String(++numbers).padStart(4, '0')}`
/** The registered content is `Hello, {#var#}`. */
const matching = { template: 'Hello,  {{code}}' }

test('S-037 S-050 the four DLT refusals apply with any key, before anything is written or a ceiling is spent', async () => {
  const pending = await own.dltTemplate({ status: 'pending' })
  const unissued = await own.dltTemplate({ providerTemplateId: null })
  const foreign = await (await verifier(t)).dltTemplate()
  const to = india()
  for (const key of [own.live, own.test]) {
    for (const [dlt_template_id, code] of [
      [undefined, 'DLT_TEMPLATE_REQUIRED'],
      [null, 'DLT_TEMPLATE_REQUIRED'],
      ['bogus', 'DLT_TEMPLATE_NOT_FOUND'],
      [foreign, 'DLT_TEMPLATE_NOT_FOUND'],
      [pending, 'DLT_TEMPLATE_NOT_APPROVED'],
      [unissued, 'DLT_TEMPLATE_NOT_PROVISIONED'],
    ] as const) {
      const reply = await leavesNoTrace(() => own.start({ to, dlt_template_id, ...matching }, { key }))
      expectRefusal(reply, code)
    }
  }
})

test('S-052 SD-22 R-06 a text that does not match the registered content is refused at template, with any key', async () => {
  const dlt_template_id = await own.dltTemplate()
  for (const template of [
    'Your verification code is {{code}}',
    'Hello, {{code}} is your code, do not share it with anyone',
  ]) {
    for (const key of [own.live, own.test]) {
      const reply = await leavesNoTrace(() => own.start({ to: india(), dlt_template_id, template }, { key }))
      expectRefusal(reply, 'VALIDATION_ERROR', {
        errors: [{ path: ['template'], code: 'custom', message: 'Must render to the content of the DLT template.' }],
      })
    }
  }
})

test('S-053 the registered ids go to the carrier, and the template is recorded on the verification', async () => {
  const dlt_template_id = await own.dltTemplate()
  const id = await own.started({ to: india(), dlt_template_id, ...matching })
  const handed = await own.handed(id)
  expect(handed.dlt).toEqual({ entity_id: '1001234567890123456', template_id: '1007000000000000001' })
  expect(await own.stored(id)).toMatchObject({ dlt_template_id })
  const simulated = await own.started({ to: india(), dlt_template_id, ...matching }, { key: own.test })
  expect(await own.stored(simulated)).toMatchObject({ dlt_template_id })
})

test('S-038 dlt_template_id is ignored for other countries and for email, however wrong it is', async () => {
  const id = await own.started({ dlt_template_id: 'bogus' })
  expect(await own.handed(id)).toMatchObject({ dlt: null })
  expect(await own.stored(id)).toMatchObject({ dlt_template_id: null })
  expect((await own.startEmail({ dlt_template_id: 'bogus' })).status).toBe(201)
})

test('S-054 DLT_ENFORCE=false lifts the rules', async () => {
  const lax = await testService({ env: { DLT_ENFORCE: 'false' } })
  const other = await verifier(lax)
  const id = await other.started({ to: india() })
  expect(await other.handed(id)).toMatchObject({ dlt: null })
})
