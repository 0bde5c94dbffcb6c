/** Where a text message may go: high-cost ranges, the countries of the org, and DLT templates for India. */
import { afterAll, describe, expect, test } from 'vitest'
import type { Body } from '../../../../test/clients/mailer.ts'
import { type Texter, text, texter } from '../../../../test/clients/texter.ts'
import { expectRefusal, watchTables } from '../../../../test/expect/refusal.ts'
import { startTestService, testService } from '../../../../test/service/service.ts'
import type { Code } from '../../../platform/ground/errors.ts'

const t = await startTestService()
afterAll(() => t.stop())
const leavesNoTrace = await watchTables(t.database)

const india = '+919876543210'
const codesOf = (reply: { body: { data: { error: { code: string } | null }[] } }) =>
  reply.body.data.map(({ error }) => error?.code ?? 'sent')

/** The same refusal at once and scheduled, with a live key and with a test key. */
const refusedEverywhere = async (own: Texter, more: Body, code: Code) => {
  for (const key of [own.live, own.test]) {
    for (const later of [{}, { scheduled_at: own.inSeconds(3_600) }]) {
      const reply = await leavesNoTrace(() => own.send(text({ ...more, ...later }), { key }))
      const { errors } = reply.body.error
      expectRefusal(reply, code, errors && { errors })
    }
  }
}

describe('high-cost ranges', () => {
  test.for(['+870773123456', '+87812345678', '+88112345678', '+8816123456', '+88212345678', '+88312345678'])(
    'S-176 S-179 S-185 X-238 %s is refused in both environments, at once and scheduled',
    async (to) => {
      await refusedEverywhere(await texter(t), { to }, 'HIGH_COST_DESTINATION')
    },
  )

  test('S-219 no list of countries opens them', async () => {
    const own = await texter(t)
    await own.geo('US,GB')
    await refusedEverywhere(own, { to: '+8816123456' }, 'HIGH_COST_DESTINATION')
    const batch = await own.batch([text({ to: '+8816123456' }), text()])
    expect(codesOf(batch)).toEqual(['HIGH_COST_DESTINATION', 'sent'])
  })
})

describe('the countries of the org', () => {
  const withGeo = async (geo: string | null) => {
    const own = await texter(t)
    await own.geo(geo)
    return own
  }
  const accepts = async (own: Texter, to: string) => expect((await own.send(text({ to }))).status).toBe(200)

  test('S-208 S-209 without a list every destination is allowed', async () => {
    const own = await withGeo(null)
    for (const to of ['+15125550100', '+447700900123', '+4915112345678', '+80012345678']) await accepts(own, to)
  })

  test('S-176 S-179 S-210 S-217 a list allows only its countries, in both environments and before anything is counted', async () => {
    const own = await withGeo('DE,GB')
    await accepts(own, '+4915112345678')
    await accepts(own, '+447700900123')
    await refusedEverywhere(own, { to: '+15125550100' }, 'SMS_DESTINATION_NOT_ALLOWED')
    await refusedEverywhere(own, { to: '+33612345678' }, 'SMS_DESTINATION_NOT_ALLOWED')
    expect(await own.used()).toMatchObject({ 'org live sms': 2 })
  })

  test('S-211 an empty list refuses every SMS', async () => {
    const own = await withGeo('')
    for (const to of ['+15125550100', '+447700900123', '+80012345678']) {
      await refusedEverywhere(own, { to }, 'SMS_DESTINATION_NOT_ALLOWED')
    }
  })

  test('S-213 X-190 S-194 a batch has the verdict of each item, in both shapes', async () => {
    const own = await withGeo('GB')
    const to = ['+447700900123', '+15125550100', '+447700900124']
    const expected = ['sent', 'SMS_DESTINATION_NOT_ALLOWED', 'sent']
    expect(codesOf(await own.batch(to.map((number) => text({ to: number }))))).toEqual(expected)
    expect(codesOf(await own.batch(text({ to })))).toEqual(expected)
    expect(codesOf(await own.batch(text({ to }), { key: own.test }))).toEqual(expected)
    expect(await own.used()).toMatchObject({ 'org live sms': 4, 'org test sms': 2 })
  })

  test.for([
    ['CA', '+15125550100'],
    ['JM', '+15125550100'],
    ['IM', '+447700900123'],
    ['KZ', '+79161234567'],
    ['XK', '+38344123456'],
  ])('S-218 R-37 a list with %s opens its whole calling code, such as %s', async ([geo, to]) => {
    await accepts(await withGeo(geo as string), to as string)
  })

  test('SD-58 a number whose calling code belongs to no country is refused when there is a list', async () => {
    const own = await withGeo('US')
    for (const to of ['+80012345678', '+2101234567']) {
      await refusedEverywhere(own, { to }, 'SMS_DESTINATION_NOT_ALLOWED')
    }
    expect(codesOf(await own.batch([text({ to: '+80012345678' })]))).toEqual(['SMS_DESTINATION_NOT_ALLOWED'])
  })

  test.for(['US;GB', 'us', 'US,', 'ZZ', '["US"]', ' '])(
    'S-220 a stored list %j counts as not configured',
    async (geo) => {
      await accepts(await withGeo(geo), '+4915112345678')
    },
  )

  test('S-160 a scheduled message is sent after the list was narrowed', async () => {
    const own = await texter(t)
    const reply = await own.send(text({ scheduled_at: own.inSeconds(60) }))
    expect(reply.body.status).toBe('scheduled')
    await own.geo('GB')
    await own.advance(61)
    await own.fire()
    expect(await own.row(reply.body.id)).toMatchObject({ status: 'sent' })
    expect((await own.handed(reply.body.id)).to).toEqual(['+15125550100'])
  })
})

describe('India', () => {
  const rules: [rule: string, code: Code, template: (own: Texter) => Promise<string | undefined>][] = [
    ['S-223 X-241 no template', 'DLT_TEMPLATE_REQUIRED', async () => undefined],
    ['S-224 X-242 an unknown template', 'DLT_TEMPLATE_NOT_FOUND', async () => 'dlt_01kd6q2v9k8x7w6t5s4r3q2p1n'],
    ['S-224 X-242 no id at all', 'DLT_TEMPLATE_NOT_FOUND', async () => 'nonsense'],
    ["S-224 X-242 another org's template", 'DLT_TEMPLATE_NOT_FOUND', async () => (await texter(t)).dltTemplate()],
    ['S-225 X-243 a pending one', 'DLT_TEMPLATE_NOT_APPROVED', (own) => own.dltTemplate({ status: 'pending' })],
    ['S-225 X-243 a submitted one', 'DLT_TEMPLATE_NOT_APPROVED', (own) => own.dltTemplate({ status: 'submitted' })],
    ['S-225 X-243 a rejected one', 'DLT_TEMPLATE_NOT_APPROVED', (own) => own.dltTemplate({ status: 'rejected' })],
    [
      'S-226 X-244 an approved one without provider ids',
      'DLT_TEMPLATE_NOT_PROVISIONED',
      (own) => own.dltTemplate({ providerTemplateId: null }),
    ],
  ]

  test.for(rules)('S-221 %s is refused in both environments: %s', async ([, code, template]) => {
    const own = await texter(t)
    const id = await template(own)
    await refusedEverywhere(own, { to: india, dlt_template_id: id }, code)
    const inBatch = code === 'DLT_TEMPLATE_REQUIRED' ? code : 'DLT_TEMPLATE_NOT_APPROVED'
    const batch = await own.batch([text({ to: india, dlt_template_id: id }), text()])
    expect(codesOf(batch), 'S-197 SD-57').toEqual([inBatch, 'sent'])
  })

  test('S-174 S-222 S-227 S-228 both registered ids are handed over, and the id is stored on the message', async () => {
    const own = await texter(t)
    const id = await own.dltTemplate()
    const { body } = await own.send(text({ to: india, dlt_template_id: id }))
    expect((await own.handed(body.id)).dlt).toEqual({
      entity_id: '1001234567890123456',
      template_id: '1007000000000000001',
    })
    expect(await own.row(body.id)).toMatchObject({ sms: { segments: 1, dlt_template_id: id } })
    expect((await own.get(body.id)).body.dlt_template_id).toBe(id)
  })

  test('R-39 X-052 a template that a test key registered is not found by a live key, and serves a test key', async () => {
    const own = await texter(t)
    const id = await own.dltTemplate({ environment: 'test' })
    const body = text({ to: india, dlt_template_id: id })
    expectRefusal(await leavesNoTrace(() => own.send(body)), 'DLT_TEMPLATE_NOT_FOUND')
    expect((await own.send(body, { key: own.test })).status).toBe(200)
  })

  test('R-36 a template id for another country is ignored, whatever it is', async () => {
    const own = await texter(t)
    for (const dlt_template_id of ['nonsense', await own.dltTemplate({ status: 'rejected' })]) {
      const reply = await own.send(text({ dlt_template_id }))
      expect(reply.status, reply.text).toBe(200)
      expect(await own.handed(reply.body.id)).toMatchObject({ dlt: null })
      expect((await own.row(reply.body.id)).sms).toEqual({ segments: 1 })
    }
  })

  test('S-196 a batch resolves its templates with one verdict per item', async () => {
    const own = await texter(t)
    const [good, bad] = [await own.dltTemplate(), await own.dltTemplate({ status: 'pending' })]
    const item = (dlt_template_id: string) => text({ to: india, dlt_template_id })
    const reply = await own.batch([item(good), item(bad), item(good), text({ dlt_template_id: bad })])
    expect(codesOf(reply)).toEqual(['sent', 'DLT_TEMPLATE_NOT_APPROVED', 'sent', 'sent'])
    const bulk = await own.batch(text({ to: [india, '+15125550100'], dlt_template_id: good }))
    expect(codesOf(bulk), 'SD-57').toEqual(['sent', 'sent'])
  })

  test.for([
    ['rejected', 'status', 'rejected', 'DLT_TEMPLATE_NOT_APPROVED'],
    ['without its provider id', 'provider_template_id', null, 'DLT_TEMPLATE_NOT_PROVISIONED'],
  ] as const)('S-229 a scheduled message fails when its template is %s by then', async ([, column, value, code]) => {
    const own = await texter(t)
    const id = await own.dltTemplate()
    const { body } = await own.send(text({ to: india, dlt_template_id: id, scheduled_at: own.inSeconds(60) }))
    await t.database.sql(`update dlt_templates set ${column} = $2 where id = $1`, [id, value])
    await expect
      .poll(async () => (await own.send(text({ to: india, dlt_template_id: id }))).body.error?.code, {
        timeout: 10_000,
      })
      .toBe(code)
    await own.advance(61)
    await own.fire()
    expect(await own.row(body.id)).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching(`^${code}: `),
    })
    expect((await own.outbox()).filter(({ message_id }) => message_id === body.id)).toEqual([])
    expect((await own.events()).map(({ event, data }) => [event, data.message_id])).toContainEqual([
      'message.failed',
      body.id,
    ])
  })

  test('S-229 a scheduled message is sent with the ids that its template has by then', async () => {
    const own = await texter(t)
    const id = await own.dltTemplate()
    const { body } = await own.send(text({ to: india, dlt_template_id: id, scheduled_at: own.inSeconds(60) }))
    await t.database.sql("update dlt_templates set provider_template_id = '1007999' where id = $1", [id])
    await own.advance(61)
    await expect
      .poll(async () => {
        const probe = await own.send(text({ to: india, dlt_template_id: id }))
        return (await own.handed(probe.body.id)).dlt
      })
      .toMatchObject({ template_id: '1007999' })
    await own.fire()
    expect((await own.handed(body.id)).dlt).toEqual({ entity_id: '1001234567890123456', template_id: '1007999' })
  })

  test('S-230 SD-59 media cannot be sent to India, with or without a template', async () => {
    const own = await texter(t)
    await own.number('+15125550199')
    const media = { from: '+15125550199', to: india, media_url: ['s3://abc/key'] }
    const errors = [{ path: ['media_url'], code: 'custom', message: 'MMS cannot be sent to +91 numbers.' }]
    for (const dlt_template_id of [undefined, await own.dltTemplate()]) {
      const reply = await leavesNoTrace(() => own.send(text({ ...media, dlt_template_id })))
      expectRefusal(reply, 'VALIDATION_ERROR', { errors })
    }
    expect(codesOf(await own.batch([text(media), text()]))).toEqual(['VALIDATION_ERROR', 'sent'])
  })

  test('SD-59 DLT_ENFORCE=false lifts the rules, media included', async () => {
    const lax = await testService({ env: { DLT_ENFORCE: 'false' } })
    const own = await texter(lax)
    await own.number('+15125550199')
    const plain = await own.send(text({ to: india }))
    expect([plain.status, (await own.handed(plain.body.id)).dlt]).toEqual([200, null])
    const media = text({ from: '+15125550199', to: india, media_url: ['s3://abc/key'] })
    expect((await own.send(media)).status).toBe(200)
  })
})
