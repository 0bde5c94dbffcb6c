import { describe, expect, test } from 'vitest'
import { movableClock } from '../../ground/clock.ts'
import { silentLog } from '../../ground/log.ts'
import { type EmailProvider, type Handover, HandoverError, type HandoverFault, type Mail } from './email-provider.ts'
import { makeFailoverProvider } from './failover.ts'
import { faultOf, testMail } from './harness.ts'

type Does = HandoverFault | 'take' | 'hang' | 'crash'

const standIn = (name: string, first: Does = 'take') => {
  const asked: string[] = []
  const held: (() => void)[] = []
  const provider = {
    name,
    does: first,
    asked,
    /** Lets those go that hang. */
    release: () => {
      for (const go of held.splice(0)) go()
    },
    closed: 0,
    send: async (mail: Mail): Promise<Handover> => {
      asked.push(mail.messageId)
      const { does } = provider
      if (does === 'hang') await new Promise<void>((resolve) => held.push(resolve))
      if (does === 'crash') throw new TypeError('a fault of ours')
      if (does !== 'take' && does !== 'hang') throw new HandoverError(does, name, `${name} says ${does}`)
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
  return { clock, chain: makeFailoverProvider(providers, { clock, log: silentLog(), timeoutMs: 20_000 }) }
}

describe('who is asked', () => {
  test('the first that takes it, and nobody after', async () => {
    const [a, b] = [standIn('a'), standIn('b')]
    const mail = testMail()
    expect(await chainOf(a, b).chain.send(mail)).toEqual({
      provider: 'a',
      providerMessageId: `a-${mail.messageId}`,
    })
    expect([a.asked, b.asked]).toEqual([[mail.messageId], []])
  })

  test.each(['unavailable', 'throttled'] as const)('the next after one that is %s', async (does) => {
    const [a, b] = [standIn('a', does), standIn('b')]
    expect((await chainOf(a, b).chain.send(testMail())).provider).toBe('b')
    expect([a.asked.length, b.asked.length]).toEqual([1, 1])
  })

  test.each([
    ['refused', 'refused'],
    ['uncertain', 'uncertain'],
    ['crash', 'uncertain'],
  ] as const)('nobody after one that ended in %s', async (does, kind) => {
    const [a, b] = [standIn('a', does), standIn('b')]
    const fault = await faultOf(chainOf(a, b).chain.send(testMail()))
    expect([fault.kind, fault.provider, b.asked]).toEqual([kind, 'a', []])
  })

  test('nobody after one that broke before it could promise anything', async () => {
    const [a, b] = [standIn('a'), standIn('b')]
    const broken: EmailProvider = {
      ...a,
      send: () => {
        throw new TypeError('a fault of ours')
      },
    }
    const fault = await faultOf(chainOf(broken, b).chain.send(testMail()))
    expect([fault.kind, fault.provider, b.asked]).toEqual(['uncertain', 'a', []])
  })

  test('when all fail the last fault is told, or that of one who only asked for less haste', async () => {
    const ends = async (...does: Does[]) => {
      const providers = does.map((one, i) => standIn(String(i), one))
      const { kind, provider } = await faultOf(chainOf(...providers).chain.send(testMail()))
      return [kind, provider]
    }
    expect(await ends('unavailable', 'unavailable')).toEqual(['unavailable', '1'])
    expect(await ends('throttled', 'unavailable')).toEqual(['throttled', '0'])
    expect(await ends('unavailable', 'throttled')).toEqual(['throttled', '1'])
    expect(await ends('unavailable', 'refused')).toEqual(['refused', '1'])
  })

  test('nobody after one that does not answer: it may have taken it', async () => {
    const [a, b] = [standIn('a', 'hang'), standIn('b')]
    const chain = makeFailoverProvider([a, b], { clock: movableClock(), log: silentLog(), timeoutMs: 20 })
    const fault = await faultOf(chain.send(testMail()))
    expect([fault.kind, fault.provider, b.asked]).toEqual(['uncertain', 'a', []])
    a.release()
  })

  test('closing closes each', async () => {
    const [a, b] = [standIn('a'), standIn('b')]
    const { chain } = chainOf(a, b)
    await chain.close()
    expect([chain.name, a.closed, b.closed]).toEqual(['a,b', 1, 1])
  })
})

describe('the breaker of each provider', () => {
  const failTimes = async (send: () => Promise<unknown>, times: number) => {
    for (let i = 0; i < times; i++) await send().catch(() => undefined)
  }

  test.each(['unavailable', 'uncertain'] as const)('opens after five in a row that were %s', async (does) => {
    const [a, b] = [standIn('a', does), standIn('b')]
    const { chain } = chainOf(a, b)
    const send = () => chain.send(testMail())
    await failTimes(send, 4)
    a.does = 'take'
    await send()
    a.does = does
    await failTimes(send, 4)
    expect(chain.states()).toEqual([
      { name: 'a', state: 'closed' },
      { name: 'b', state: 'closed' },
    ])
    await failTimes(send, 1)
    expect(chain.states()[0]).toEqual({ name: 'a', state: 'open' })
    expect(a.asked).toHaveLength(10)
    expect((await send()).provider).toBe('b')
    expect(a.asked).toHaveLength(10)
  })

  test.each(['refused', 'throttled'] as const)('stays closed while it answers, be it %s', async (does) => {
    const a = standIn('a', does)
    const { chain } = chainOf(a)
    await failTimes(() => chain.send(testMail()), 12)
    expect([a.asked.length, chain.states()]).toEqual([12, [{ name: 'a', state: 'closed' }]])
  })

  test('lets one message try after 30 seconds, and no second one meanwhile', async () => {
    const a = standIn('a', 'unavailable')
    const { chain, clock } = chainOf(a)
    const send = () => chain.send(testMail())
    await failTimes(send, 5)
    clock.advance(29_000)
    expect((await faultOf(send())).message).toBe('No email provider is available right now.')
    expect(a.asked).toHaveLength(5)
    clock.advance(1_000)
    expect(chain.states()).toEqual([{ name: 'a', state: 'half_open' }])
    a.does = 'hang'
    const probe = send()
    expect((await faultOf(send())).kind).toBe('unavailable')
    expect(a.asked).toHaveLength(6)
    a.release()
    await probe
    expect(chain.states()).toEqual([{ name: 'a', state: 'closed' }])
    a.does = 'take'
    await Promise.all([send(), send()])
    expect(a.asked).toHaveLength(8)
  })

  test('opens again for 30 seconds when the try fails', async () => {
    const a = standIn('a', 'unavailable')
    const { chain, clock } = chainOf(a)
    await failTimes(() => chain.send(testMail()), 5)
    clock.advance(30_000)
    await failTimes(() => chain.send(testMail()), 3)
    expect([a.asked.length, chain.states()[0]?.state]).toEqual([6, 'open'])
    clock.advance(30_000)
    a.does = 'refused'
    expect((await faultOf(chain.send(testMail()))).kind).toBe('refused')
    expect([a.asked.length, chain.states()[0]?.state]).toEqual([7, 'closed'])
  })
})
