/** The smpp provider when its message centre is away, slow or busy. */
import smpp from 'smpp'
import { describe, expect, test } from 'vitest'
import { faultOf, selfSigned } from '../../../../test/providers/email.ts'
import { isBound, openSmppProvider, patient, withSmsc } from '../../../../test/providers/smpp.ts'
import { testSms } from '../../../../test/providers/sms.ts'
import { openSmsc } from '../../../../test/servers/smsc.ts'

describe('when the connection is not there', () => {
  test('nothing is sent, and the provider is unavailable', async () => {
    const smsc = await openSmsc()
    await smsc.stop()
    const provider = openSmppProvider(smsc.url)
    const fault = await faultOf(provider.send(testSms()))
    expect([fault.kind, fault.message]).toEqual(['unavailable', 'The message centre did not take the message.'])
  })

  test('it comes back after the message centre does, however often binding failed', async () => {
    const smsc = await openSmsc()
    const provider = openSmppProvider(smsc.url)
    await provider.send(testSms())
    await smsc.stop()
    await expect.poll(async () => (await faultOf(provider.send(testSms()))).kind, patient).toBe('unavailable')
    await smsc.start()
    await expect
      .poll(
        () =>
          provider.send(testSms()).then(
            ({ provider }) => provider,
            () => 'not yet',
          ),
        patient,
      )
      .toBe('smpp')
  })

  test('a refused bind makes it unavailable until the message centre accepts one', async () => {
    const { smsc, provider } = await withSmsc()
    smsc.answer.bind = () => ({ command_status: smpp.errors.ESME_RINVPASWD })
    const fault = await faultOf(provider.send(testSms()))
    expect(fault.kind).toBe('unavailable')
    expect(smsc.submits).toEqual([])
    smsc.answer.bind = () => ({ system_id: 'smsc' })
    await expect
      .poll(
        () =>
          provider.send(testSms()).then(
            ({ provider }) => provider,
            () => 'not yet',
          ),
        patient,
      )
      .toBe('smpp')
  })

  test('bytes that are not SMPP end the connection, and a new one is opened', async () => {
    const { smsc, provider } = await withSmsc()
    await provider.send(testSms())
    const { socket } = smsc.session() as unknown as { socket: { write(bytes: Buffer): void } }
    socket.write(Buffer.alloc(64, 0xff))
    await expect.poll(() => smsc.binds.length, patient).toBe(2)
    expect((await provider.send(testSms())).provider).toBe('smpp')
  })

  test('a message centre that unbinds gets an answer, and a new bind', async () => {
    const { smsc, provider } = await withSmsc()
    await provider.send(testSms())
    expect((await smsc.ask('unbind')).command).toBe('unbind_resp')
    await expect.poll(() => smsc.binds.length, patient).toBe(2)
  })
})

describe('when an answer is missing', () => {
  test('a connection that drops makes the message uncertain, and the next one is sent over a new connection', async () => {
    const { smsc, provider } = await withSmsc()
    smsc.answer.submit = (_, session) => {
      session.destroy()
      return 'silent'
    }
    expect((await faultOf(provider.send(testSms()))).kind).toBe('uncertain')
    smsc.answer.submit = () => ({ message_id: 'second' })
    await expect.poll(() => smsc.binds.length, patient).toBe(2)
    expect((await provider.send(testSms())).providerMessageId).toBe('second')
    expect(smsc.submits).toHaveLength(2)
  })

  test('a late answer makes the message uncertain, and its id is remembered when it arrives', async () => {
    const { smsc, provider } = await withSmsc({ timeouts: { answerMs: 100 } })
    await isBound(smsc)
    const late = Promise.withResolvers<Record<string, unknown>>()
    smsc.answer.submit = () => late.promise
    const sms = testSms()
    const fault = await faultOf(provider.send(sms))
    expect([fault.kind, fault.message]).toEqual([
      'uncertain',
      'The message centre did not confirm the message. It may have been sent.',
    ])
    expect(provider.remembered).toEqual([])
    late.resolve({ message_id: 'LATE-1' })
    await expect
      .poll(() => provider.remembered.map((part) => [part.providerMessageId, part.messageId]), patient)
      .toEqual([['LATE-1', sms.messageId]])
  })

  test('a connection with more than a window of missing answers is replaced', async () => {
    const { smsc, provider } = await withSmsc({ timeouts: { answerMs: 50, waitMs: 20_000 } })
    await isBound(smsc)
    smsc.answer.submit = () => 'silent'
    const kinds = await Promise.all(
      Array.from({ length: 120 }, async () => (await faultOf(provider.send(testSms()))).kind),
    )
    expect(new Set(kinds)).toEqual(new Set(['uncertain']))
    await expect.poll(() => smsc.binds.length, patient).toBeGreaterThan(1)
  })

  test('a connection check without an answer replaces the connection', async () => {
    const { smsc } = await withSmsc({ timeouts: { enquireMs: 20, answerMs: 1_000 } })
    await expect.poll(() => smsc.commands.filter((name) => name === 'enquire_link').length, patient).toBeGreaterThan(2)
    expect(smsc.binds).toHaveLength(1)
    smsc.answer.enquire = () => 'silent'
    await expect.poll(() => smsc.binds.length, patient).toBeGreaterThan(1)
  })
})

describe('the window', () => {
  test('has at most 100 requests without an answer', async () => {
    const { smsc, provider } = await withSmsc({ timeouts: { waitMs: 20_000 } })
    const waiting: (() => void)[] = []
    smsc.answer.submit = () =>
      new Promise((resolve) => waiting.push(() => resolve({ message_id: `w-${smsc.submits.length}` })))
    const sends = Array.from({ length: 250 }, () => provider.send(testSms()))
    for (const expected of [100, 200, 250]) {
      await expect.poll(() => smsc.submits.length, patient).toBe(expected)
      for (const answer of waiting.splice(0)) answer()
    }
    await Promise.all(sends)
    expect(smsc.submits).toHaveLength(250)
  })

  test('throttles a message that gets no place in it in time', async () => {
    const { smsc, provider } = await withSmsc({ timeouts: { waitMs: 1_000, answerMs: 60_000 } })
    await isBound(smsc)
    const waiting: (() => void)[] = []
    smsc.answer.submit = () => new Promise((resolve) => waiting.push(() => resolve({ message_id: 'w' })))
    const sends = Array.from({ length: 100 }, () => provider.send(testSms()))
    await expect.poll(() => waiting.length, patient).toBe(100)
    expect((await faultOf(provider.send(testSms()))).kind).toBe('throttled')
    for (const answer of waiting) answer()
    await Promise.all(sends)
  })
})

test('A TLS connection requires a valid certificate unless the URL turns that off', async () => {
  const { key, certificate: cert } = await selfSigned('smsc.test')
  const smsc = await openSmsc({ key, cert })
  const fault = await faultOf(openSmppProvider(smsc.url).send(testSms()))
  expect([fault.kind, smsc.binds]).toEqual(['unavailable', []])
  expect((await openSmppProvider(`${smsc.url}?verify=off`).send(testSms())).provider).toBe('smpp')
})
