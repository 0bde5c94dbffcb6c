/** An smpp provider whose receipts are kept in memory. */
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/platform/ground/clock.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import type { SmppReceipt } from '../../src/providers/sms/smpp/deliver-sm.ts'
import { makeSmppProvider } from '../../src/providers/sms/smpp/smpp-provider.ts'
import type { SubmittedPart } from '../../src/providers/sms/smpp/store.ts'
import { openSmsc, type Smsc } from '../servers/smsc.ts'

/** The machine that runs the tests may be busy. */
export const patient = { timeout: 15_000 }

type Options = Partial<Parameters<typeof makeSmppProvider>[0]>

export const openSmppProvider = (url: string, options: Options = {}) => {
  const remembered: SubmittedPart[] = []
  const taken: SmppReceipt[] = []
  const provider = makeSmppProvider({
    url,
    clock: systemClock,
    log: silentLog(),
    backoff: { firstMs: 10, maxMs: 50 },
    receipts: {
      remember: async (part) => {
        remembered.push(part)
      },
      take: async (receipt) => {
        taken.push(receipt)
      },
      close: async () => undefined,
    },
    ...options,
  })
  onTestFinished(() => provider.close())
  return { ...provider, remembered, taken }
}

export const withSmsc = async (options: Options = {}) => {
  const smsc = await openSmsc()
  return { smsc, provider: openSmppProvider(smsc.url, options) }
}

export const isBound = (smsc: Smsc) => expect.poll(() => smsc.binds.length, patient).toBeGreaterThan(0)
