import { describe, expect, test } from 'vitest'
import { faultOf } from '../../../test/providers/email.ts'
import { movableClock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { silentLog } from '../../platform/ground/log.ts'
import { HandoverFault, type HandoverFaultKind } from '../../providers/handover.ts'
import type { Draft } from './draft.ts'
import { makeBeginHandOver } from './hand-over.ts'

type Step = HandoverFaultKind | 'accept'

const draft = (): Draft => ({ id: newId('message') }) as Draft

/** Handovers with these outcomes in turn, the last of them for ever. Every wait and attempt moves the clock. */
const setUp = (steps: Step[], { attemptMs = 0, mostWaiting = 10, random = 0.5 } = {}) => {
  const clock = movableClock()
  const waits: number[] = []
  const held: (() => void)[] = []
  let attempts = 0
  const needs = {
    clock,
    log: silentLog(),
    random: () => random,
    mostWaiting,
    channel: {
      handOver: async () => {
        const step = steps[Math.min(attempts++, steps.length - 1)] as Step
        clock.advance(attemptMs)
        if (step !== 'accept') throw new HandoverFault(step, 'fake', `attempt ${attempts}`)
        return { provider: 'fake', providerMessageId: String(attempts) }
      },
    },
  }
  const begin = makeBeginHandOver<Draft>({
    ...needs,
    wait: async (milliseconds) => {
      waits.push(milliseconds)
      clock.advance(milliseconds)
    },
  })
  const beginHeld = makeBeginHandOver<Draft>({ ...needs, wait: () => new Promise<void>((done) => held.push(done)) })
  const release = () => {
    for (const done of held.splice(0)) done()
  }
  return { begin, beginHeld, clock, waits, held, release, attempts: () => attempts }
}

describe('a handover of a request', () => {
  test.each(['unavailable', 'throttled'] as const)('R-20 is tried again after %s until it succeeds', async (kind) => {
    const { begin, attempts } = setUp([kind, kind, 'accept'])
    expect(await begin()(draft())).toEqual({ provider: 'fake', providerMessageId: '3' })
    expect(attempts()).toBe(3)
  })

  test.each(['refused', 'uncertain'] as const)('R-20 is not tried again after %s', async (kind) => {
    const first = setUp([kind])
    expect((await faultOf(first.begin()(draft()))).kind).toBe(kind)
    expect([first.attempts(), first.waits]).toEqual([1, []])
    const second = setUp(['unavailable', kind])
    expect((await faultOf(second.begin()(draft()))).message).toBe('attempt 2')
    expect(second.attempts()).toBe(2)
  })

  test.each([0, 0.999])(
    'R-20 waits ever longer, up to a second, and gives up after 10 seconds (jitter %d)',
    async (random) => {
      const { begin, waits, attempts, clock } = setUp(['unavailable'], { random })
      const before = clock.offset()
      expect((await faultOf(begin()(draft()))).kind).toBe('unavailable')
      const factor = 0.5 + random / 2
      expect(waits.slice(0, 5)).toEqual([100, 200, 400, 800, 1_000].map((ms) => ms * factor))
      expect(waits.slice(5).every((ms) => ms === 1_000 * factor)).toBe(true)
      expect(attempts()).toBe(waits.length + 1)
      const waited = clock.offset() - before
      expect([waited > 8_500, waited <= 10_000]).toEqual([true, true])
    },
  )

  test('R-20 begins no attempt that would last beyond the time for retries', async () => {
    const slow = setUp(['unavailable'], { attemptMs: 8_000 })
    await faultOf(slow.begin()(draft()))
    expect(slow.attempts()).toBe(2)
    const slower = setUp(['unavailable'], { attemptMs: 11_000 })
    await faultOf(slower.begin()(draft()))
    expect(slower.attempts()).toBe(1)
  })

  test('R-20 is not tried again after the deadline of the request', async () => {
    const { begin, clock, waits } = setUp(['unavailable'])
    await faultOf(begin(clock.millis() + 1_000)(draft()))
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(1_000)
    expect(waits.length).toBeGreaterThan(0)
    const late = setUp(['unavailable'])
    await faultOf(late.begin(late.clock.millis() - 1)(draft()))
    expect(late.attempts()).toBe(1)
  })

  test('R-20 shares the time for retries with the other messages of the request', async () => {
    const { begin, clock } = setUp(['unavailable'])
    const handOver = begin()
    await faultOf(handOver(draft()))
    await faultOf(handOver(draft()))
    expect(clock.offset()).toBeLessThanOrEqual(10_000)
    await faultOf(begin()(draft()))
    expect(clock.offset()).toBeGreaterThan(15_000)
  })

  test('R-20 fails at once when too many requests wait, and waits again when one has ended', async () => {
    const { beginHeld, held, release, attempts } = setUp(['unavailable', 'unavailable', 'unavailable', 'accept'], {
      mostWaiting: 1,
    })
    const first = beginHeld()
    const waiting = [first(draft()), first(draft())]
    await expect.poll(() => held.length).toBe(2)
    expect((await faultOf(beginHeld()(draft()))).kind).toBe('unavailable')
    expect(attempts()).toBe(3)
    release()
    expect((await Promise.all(waiting)).map(({ provider }) => provider)).toEqual(['fake', 'fake'])
  })
})
