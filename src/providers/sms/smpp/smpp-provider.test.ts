/** The smpp provider at the wire, against a message centre on loopback. */
import fc from 'fast-check'
import smpp, { type Pdu } from 'smpp'
import { describe, expect, test } from 'vitest'
import { faultOf } from '../../../../test/providers/email.ts'
import { isBound, patient, withSmsc } from '../../../../test/providers/smpp.ts'
import { testSms } from '../../../../test/providers/sms.ts'
import { receiptFields } from '../../../../test/servers/smsc.ts'
import type { InboundSms } from '../sms-provider.ts'

const textOf = ({ short_message }: Pdu): string => String(short_message?.message ?? '')
const headerOf = ({ short_message }: Pdu): number[] => [...((short_message?.udh as Buffer[] | undefined)?.[0] ?? [])]

describe('a text message', () => {
  test('is submitted over a transceiver bind, and its id is remembered', async () => {
    const { smsc, provider } = await withSmsc()
    const sms = testSms({ body: 'Hi [€]' })
    expect(await provider.send(sms)).toEqual({ provider: 'smpp', providerMessageId: 'id-1' })
    expect(smsc.binds).toHaveLength(1)
    expect(smsc.binds[0]).toMatchObject({ system_id: 'acme', password: 'secret', interface_version: 0x34 })
    expect(smsc.submits).toHaveLength(1)
    expect(smsc.submits[0]).toMatchObject({
      source_addr_ton: 1,
      source_addr_npi: 1,
      source_addr: '12025550100',
      dest_addr_ton: 1,
      dest_addr_npi: 1,
      destination_addr: '12025550123',
      esm_class: 0,
      data_coding: 0,
      registered_delivery: 1,
      short_message: { message: 'Hi [€]' },
    })
    expect(smsc.submits[0]).not.toHaveProperty('dlt_entity_id')
    expect(provider.remembered).toEqual([
      {
        providerMessageId: 'id-1',
        orgId: sms.orgId,
        messageId: sms.messageId,
        part: 1,
        parts: 1,
        recipientEnd: '0123',
      },
    ])
  })

  test('from a name has an alphanumeric source, and other letters than GSM-7 are sent as UCS-2', async () => {
    const { smsc, provider } = await withSmsc()
    await provider.send(testSms({ from: 'ACME', body: 'Привет 👋' }))
    expect(smsc.submits[0]).toMatchObject({
      source_addr_ton: 5,
      source_addr_npi: 0,
      source_addr: 'ACME',
      data_coding: 8,
      short_message: { message: 'Привет 👋' },
    })
  })

  test('S-227 carries the entity and the template id of DLT together or not at all', async () => {
    const { smsc, provider } = await withSmsc()
    await provider.send(testSms({ dlt: { entityId: '1101', templateId: '1107' } }))
    await provider.send(testSms({ dlt: { entityId: '1101', templateId: '' } }))
    expect(smsc.submits.map((pdu) => [pdu.dlt_entity_id, pdu.dlt_template_id])).toEqual([
      ['1101', '1107'],
      [undefined, undefined],
    ])
  })

  test('arrives as it was written, whatever it contains', async () => {
    const { smsc, provider } = await withSmsc()
    const gsm = '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./09:;<=>?¡AZÄÖÑÜ§¿azäöñüà\f^{}\\[~]|€'
    const bodies = fc.oneof(
      fc.string({ unit: fc.constantFrom(...gsm), minLength: 1, maxLength: 400 }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }).map((text) => text.toWellFormed()),
    )
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        smsc.submits.length = 0
        await provider.send(testSms({ body }))
        const ordered = smsc.submits.toSorted((a, b) => (headerOf(a)[4] ?? 0) - (headerOf(b)[4] ?? 0))
        expect(ordered.map(textOf).join('')).toBe(body)
      }),
      { numRuns: 60 },
    )
  })

  test('with media is refused without a request, and the provider does not accept it', async () => {
    const { smsc, provider } = await withSmsc()
    const mms = testSms({ mediaUrl: ['s3://files/a.png'] })
    expect([provider.accepts?.(mms), provider.accepts?.(testSms())]).toEqual([false, true])
    expect((await faultOf(provider.send(mms))).kind).toBe('refused')
    expect(smsc.submits).toEqual([])
  })
})

describe('a long text', () => {
  const long = 'abcdefghij'.repeat(40)

  test('is submitted in numbered parts with one reference, which the next message does not have', async () => {
    const { smsc, provider } = await withSmsc()
    const handed = await provider.send(testSms({ body: long }))
    expect(handed.providerMessageId).toBe('id-1')
    const [first] = smsc.submits
    const reference = headerOf(first as Pdu)[2]
    expect(smsc.submits.map((pdu) => [headerOf(pdu), pdu.esm_class])).toEqual([
      [[0, 3, reference, 3, 1], 0x40],
      [[0, 3, reference, 3, 2], 0x40],
      [[0, 3, reference, 3, 3], 0x40],
    ])
    expect(smsc.submits.map(textOf).join('')).toBe(long)
    expect(provider.remembered.map(({ providerMessageId, part, parts }) => [providerMessageId, part, parts])).toEqual([
      ['id-1', 1, 3],
      ['id-2', 2, 3],
      ['id-3', 3, 3],
    ])
    smsc.submits.length = 0
    await provider.send(testSms({ body: long }))
    expect(headerOf(smsc.submits[0] as Pdu)[2]).toBe(((reference as number) + 1) & 0xff)
  })

  test('sends nothing more when the first part is not accepted', async () => {
    const { smsc, provider } = await withSmsc()
    smsc.answer.submit = () => ({ command_status: smpp.errors.ESME_RTHROTTLED })
    expect((await faultOf(provider.send(testSms({ body: long })))).kind).toBe('throttled')
    expect([smsc.submits.length, provider.remembered]).toEqual([1, []])
  })

  test('repeats a later part that is throttled, without sending the others again', async () => {
    const { smsc, provider } = await withSmsc()
    smsc.answer.submit = (pdu) => {
      const part = headerOf(pdu)[4]
      const again = smsc.submits.filter((other) => headerOf(other)[4] === part).length > 1
      return part === 2 && !again ? { command_status: smpp.errors.ESME_RMSGQFUL } : { message_id: `part-${part}` }
    }
    expect((await provider.send(testSms({ body: long }))).providerMessageId).toBe('part-1')
    expect(smsc.submits.map((pdu) => headerOf(pdu)[4])).toEqual([1, 2, 3, 2])
  })

  test.each([
    ['refused', smpp.errors.ESME_RINVDSTADR],
    ['uncertain', smpp.errors.ESME_RSYSERR],
  ])('is %s when a later part gets status %s, and the accepted parts are remembered', async (kind, command_status) => {
    const { smsc, provider } = await withSmsc()
    smsc.answer.submit = (pdu) => (headerOf(pdu)[4] === 3 ? { command_status } : { message_id: `${headerOf(pdu)[4]}` })
    expect((await faultOf(provider.send(testSms({ body: long })))).kind).toBe(kind)
    expect(provider.remembered.map(({ part, parts }) => [part, parts])).toEqual([
      [1, 3],
      [2, 3],
    ])
  })
})

describe('when the message centre does not accept a message', () => {
  test.each([
    ['ESME_RTHROTTLED', 'throttled'],
    ['ESME_RMSGQFUL', 'throttled'],
    ['ESME_RINVSRCADR', 'refused'],
    ['ESME_RINVDSTADR', 'refused'],
    ['ESME_RSUBMITFAIL', 'refused'],
    ['ESME_RINVMSGLEN', 'refused'],
    ['ESME_RX_P_APPN', 'refused'],
    ['ESME_RSYSERR', 'unavailable'],
    ['ESME_RX_T_APPN', 'unavailable'],
    ['ESME_RINVBNDSTS', 'unavailable'],
  ])('%s means %s', async (name, kind) => {
    const { smsc, provider } = await withSmsc()
    const command_status = smpp.errors[name] as number
    smsc.answer.submit = () => ({ command_status })
    const fault = await faultOf(provider.send(testSms()))
    expect([fault.kind, fault.provider, smsc.submits.length]).toEqual([kind, 'smpp', 1])
    expect(fault.message).toContain(`0x${command_status.toString(16).padStart(2, '0')} (${name})`)
    expect(provider.remembered).toEqual([])
  })

  test('a status of its vendor means refused', async () => {
    const { smsc, provider } = await withSmsc()
    smsc.answer.submit = () => ({ command_status: 0x0401 })
    expect((await faultOf(provider.send(testSms()))).message).toBe(
      'The message centre refused the message: status 0x401 (unknown).',
    )
  })
})

describe('requests of the message centre', () => {
  test('a receipt is processed before it is answered', async () => {
    const { smsc, provider } = await withSmsc()
    await isBound(smsc)
    expect(await smsc.deliver(receiptFields('abc-1', 'DELIVRD'))).toBe(0)
    expect(provider.taken).toEqual([
      { ids: ['abc-1'], state: 'DELIVRD', token: 'DELIVERED', error: null, recipientEnd: '0123' },
    ])
  })

  test('a receipt that cannot be processed now is answered with a temporary error', async () => {
    const receipts = {
      remember: async () => undefined,
      take: () => Promise.reject(new Error('no database')),
      close: async () => undefined,
    }
    const { smsc } = await withSmsc({ receipts })
    await isBound(smsc)
    expect(await smsc.deliver(receiptFields('abc-1', 'DELIVRD'))).toBe(smpp.errors.ESME_RX_T_APPN)
  })

  test('an inbound message goes to its handler, and is sent again when that fails', async () => {
    const inbound: InboundSms[] = []
    const onInbound = async (message: InboundSms) => {
      inbound.push(message)
      if (inbound.length === 1) throw new Error('not now')
      return true
    }
    const { smsc, provider } = await withSmsc({ onInbound })
    await isBound(smsc)
    const fields = {
      source_addr: '12025550123',
      source_addr_ton: 1,
      destination_addr: '12025550100',
      dest_addr_ton: 1,
      data_coding: 8,
      short_message: { message: 'СТОП' },
    }
    expect([await smsc.deliver(fields), await smsc.deliver(fields)]).toEqual([smpp.errors.ESME_RX_T_APPN, 0])
    const numbers = { from: '+12025550123', to: '+12025550100' }
    const common = { provider: 'smpp', id: null, mediaUrl: [], isContinuation: false }
    const expected = { ...common, ...numbers, body: 'СТОП', at: expect.any(Date) }
    expect(inbound).toEqual([expected, expected])
    expect(provider.taken).toEqual([])
  })

  test.each([
    ['without a handler', undefined],
    ['to a number that nobody has', async () => false],
  ])('an inbound message %s is rejected, not acknowledged and lost', async (_, onInbound) => {
    const { smsc, provider } = await withSmsc({ onInbound })
    await isBound(smsc)
    const fields = { source_addr: '12025550123', destination_addr: '12025550100', short_message: { message: 'STOP' } }
    expect(await smsc.deliver(fields)).toBe(smpp.errors.ESME_RX_R_APPN)
    expect(provider.taken).toEqual([])
  })

  test('a connection check is answered', async () => {
    const { smsc } = await withSmsc()
    await isBound(smsc)
    expect((await smsc.ask('enquire_link')).command).toBe('enquire_link_resp')
  })
})

test('Closing waits for the messages that are being sent, and then unbinds', async () => {
  const { smsc, provider } = await withSmsc()
  await isBound(smsc)
  const answer = Promise.withResolvers<Record<string, unknown>>()
  smsc.answer.submit = () => answer.promise
  const sending = provider.send(testSms())
  await expect.poll(() => smsc.submits.length, patient).toBe(1)
  const closing = provider.close()
  expect(smsc.commands).toEqual(['bind_transceiver'])
  answer.resolve({ message_id: 'last' })
  expect((await sending).providerMessageId).toBe('last')
  await closing
  expect(smsc.commands).toEqual(['bind_transceiver', 'unbind'])
  expect((await faultOf(provider.send(testSms()))).kind).toBe('unavailable')
  expect(smsc.connections()).toBe(1)
})
