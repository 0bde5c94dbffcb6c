import { describe, expect, test } from 'vitest'
import { faultOf, testMail } from '../../test/providers/email.ts'
import { movableClock } from '../platform/ground/clock.ts'
import { silentLog } from '../platform/ground/log.ts'
import type { EmailProvider, Mail } from './email/email-provider.ts'
import { makeFailoverProvider } from './failover.ts'
import { type Handover, HandoverFault, type HandoverFaultKind } from './handover.ts'

type Behaviour = HandoverFaultKind | 'accept' | 'hang' | 'crash'

const fakeProvider = (name: string, initial: Behaviour = 'accept') => {
  const calls: string[] = []
  const hanging: (() => void)[] = []
  const provider = {
    name,
    behaviour: initial,
    calls,
    /** Lets hanging sends succeed. */
    release: () => {
      for (const resolve of hanging.splice(0)) resolve()
    },
    closed: 0,
    send: async (mail: Mail): Promise<Handover> => {
      calls.push(mail.messageId)
      const { behaviour } = provider
      if (behaviour === 'hang') await new Promise<void>((resolve) => hanging.push(resolve))
      if (behaviour === 'crash') throw new TypeError('unexpected error')
      if (behaviour !== 'accept' && behaviour !== 'hang') {
        throw new HandoverFault(behaviour, name, `${name} is ${behaviour}`)
      }
      return { provider: name, providerMessageId: `${name}-${mail.messageId}` }
    },
    close: async () => {
      provider.closed++
    },
  }
  return provider satisfies EmailProvider
}

const chainOf = (...providers: EmailProvider[]) => {
  const clock = movableClock()
  return {
    clock,
    chain: makeFailoverProvider(providers, { channel: 'email', clock, log: silentLog(), timeoutMs: 20_000 }),
  }
}

describe('failover', () => {
  test('passes a message over providers that cannot send its kind, and refuses it when none can', async () => {
    const [a, b] = [fakeProvider('a'), fakeProvider('b')]
    const unable = { ...a, accepts: () => false }
    const { chain } = chainOf(unable, b)
    for (let i = 0; i < 6; i++) expect((await chain.send(testMail())).provider).toBe('b')
    expect([a.calls, chain.states()[0]?.state]).toEqual([[], 'closed'])
    const fault = await faultOf(chainOf(unable).chain.send(testMail()))
    expect([fault.kind, fault.message]).toEqual([
      'refused',
      'No configured email provider can send this kind of message.',
    ])
  })

  test('stops at the first provider that accepts the message', async () => {
    const [a, b] = [fakeProvider('a'), fakeProvider('b')]
    const mail = testMail()
    expect(await chainOf(a, b).chain.send(mail)).toEqual({
      provider: 'a',
      providerMessageId: `a-${mail.messageId}`,
    })
    expect([a.calls, b.calls]).toEqual([[mail.messageId], []])
  })

  test.each(['unavailable', 'throttled'] as const)(
    'tries the next provider after one that is %s',
    async (behaviour) => {
      const [a, b] = [fakeProvider('a', behaviour), fakeProvider('b')]
      expect((await chainOf(a, b).chain.send(testMail())).provider).toBe('b')
      expect([a.calls.length, b.calls.length]).toEqual([1, 1])
    },
  )

  test.each([
    ['refused', 'refused'],
    ['uncertain', 'uncertain'],
    ['crash', 'uncertain'],
  ] as const)('does not try the next provider after %s', async (behaviour, kind) => {
    const [a, b] = [fakeProvider('a', behaviour), fakeProvider('b')]
    const fault = await faultOf(chainOf(a, b).chain.send(testMail()))
    expect([fault.kind, fault.provider, b.calls]).toEqual([kind, 'a', []])
  })

  test('does not try the next provider after one that throws synchronously', async () => {
    const [a, b] = [fakeProvider('a'), fakeProvider('b')]
    const broken: EmailProvider = {
      ...a,
      send: () => {
        throw new TypeError('unexpected error')
      },
    }
    const fault = await faultOf(chainOf(broken, b).chain.send(testMail()))
    expect([fault.kind, fault.provider, b.calls]).toEqual(['uncertain', 'a', []])
  })

  test('reports the last fault when all providers fail, or a throttled one if there is one', async () => {
    const faultAfter = async (...behaviours: Behaviour[]) => {
      const providers = behaviours.map((behaviour, i) => fakeProvider(String(i), behaviour))
      const { kind, provider } = await faultOf(chainOf(...providers).chain.send(testMail()))
      return [kind, provider]
    }
    expect(await faultAfter('unavailable', 'unavailable')).toEqual(['unavailable', '1'])
    expect(await faultAfter('throttled', 'unavailable')).toEqual(['throttled', '0'])
    expect(await faultAfter('unavailable', 'throttled')).toEqual(['throttled', '1'])
    expect(await faultAfter('unavailable', 'refused')).toEqual(['refused', '1'])
  })

  test('does not try the next provider after a timeout, because the message may have been sent', async () => {
    const [a, b] = [fakeProvider('a', 'hang'), fakeProvider('b')]
    const chain = makeFailoverProvider([a, b], {
      channel: 'email',
      clock: movableClock(),
      log: silentLog(),
      timeoutMs: 20,
    })
    const fault = await faultOf(chain.send(testMail()))
    expect([fault.kind, fault.provider, b.calls]).toEqual(['uncertain', 'a', []])
    a.release()
  })

  test('closes every provider', async () => {
    const [a, b] = [fakeProvider('a'), fakeProvider('b')]
    const { chain } = chainOf(a, b)
    await chain.close()
    expect([chain.name, a.closed, b.closed]).toEqual(['a,b', 1, 1])
  })
})

describe('the circuit breaker of a provider', () => {
  const failTimes = async (send: () => Promise<unknown>, times: number) => {
    for (let i = 0; i < times; i++) await send().catch(() => undefined)
  }

  test.each(['unavailable', 'uncertain'] as const)(
    'opens after five consecutive sends that are %s',
    async (behaviour) => {
      const [a, b] = [fakeProvider('a', behaviour), fakeProvider('b')]
      const { chain } = chainOf(a, b)
      const send = () => chain.send(testMail())
      await failTimes(send, 4)
      a.behaviour = 'accept'
      await send()
      a.behaviour = behaviour
      await failTimes(send, 4)
      expect(chain.states()).toEqual([
        { name: 'a', state: 'closed' },
        { name: 'b', state: 'closed' },
      ])
      await failTimes(send, 1)
      expect(chain.states()[0]).toEqual({ name: 'a', state: 'open' })
      expect(a.calls).toHaveLength(10)
      expect((await send()).provider).toBe('b')
      expect(a.calls).toHaveLength(10)
    },
  )

  test.each(['refused', 'throttled'] as const)('stays closed while messages are %s', async (behaviour) => {
    const a = fakeProvider('a', behaviour)
    const { chain } = chainOf(a)
    await failTimes(() => chain.send(testMail()), 12)
    expect([a.calls.length, chain.states()]).toEqual([12, [{ name: 'a', state: 'closed' }]])
  })

  test.each([
    ['30 seconds while another provider works', 'accept', 30_000],
    ['a second while the other provider fails too', 'unavailable', 1_000],
  ] as const)('tries the provider again after %s', async (_, other, openForMs) => {
    const [a, b] = [fakeProvider('a', 'unavailable'), fakeProvider('b', other)]
    const { chain, clock } = chainOf(a, b)
    await failTimes(() => chain.send(testMail()), 5)
    clock.advance(openForMs - 500)
    expect(chain.states()[0]?.state).toBe('open')
    await failTimes(() => chain.send(testMail()), 1)
    expect(a.calls).toHaveLength(5)
    clock.advance(500)
    expect(chain.states()[0]?.state).toBe('half_open')
    await failTimes(() => chain.send(testMail()), 1)
    expect(a.calls).toHaveLength(6)
  })

  test('R-20 of the only provider lets one message through every second, and closes when it succeeds', async () => {
    const a = fakeProvider('a', 'unavailable')
    const { chain, clock } = chainOf(a)
    const send = () => chain.send(testMail())
    await failTimes(send, 5)
    expect((await faultOf(send())).message).toBe('No email provider is available right now.')
    expect(a.calls).toHaveLength(5)
    clock.advance(1_000)
    expect(chain.states()).toEqual([{ name: 'a', state: 'half_open' }])
    a.behaviour = 'hang'
    const probe = send()
    expect((await faultOf(send())).kind).toBe('unavailable')
    expect(a.calls).toHaveLength(6)
    a.release()
    await probe
    expect(chain.states()).toEqual([{ name: 'a', state: 'closed' }])
    a.behaviour = 'accept'
    await Promise.all([send(), send()])
    expect(a.calls).toHaveLength(8)
  })

  test('stays open when that message fails, and closes when the provider refuses one', async () => {
    const a = fakeProvider('a', 'unavailable')
    const { chain, clock } = chainOf(a)
    await failTimes(() => chain.send(testMail()), 5)
    clock.advance(1_000)
    await failTimes(() => chain.send(testMail()), 3)
    expect([a.calls.length, chain.states()[0]?.state]).toEqual([6, 'open'])
    clock.advance(1_000)
    a.behaviour = 'refused'
    expect((await faultOf(chain.send(testMail()))).kind).toBe('refused')
    expect([a.calls.length, chain.states()[0]?.state]).toEqual([7, 'closed'])
  })
})
