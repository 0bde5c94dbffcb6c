/** The provider for development: accepts every message, stores it in the outbox, and simulates outcomes. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { HandoverFault } from '../handover.ts'
import { idsOf, type Outbox } from '../outbox/local-outbox.ts'
import type { EmailProvider } from './email-provider.ts'
import { scenarioOf, simulatedReports } from './simulator.ts'
import { recipientsOf, toStored } from './stored-mail.ts'

const name = 'local'
const slowMs = 3_000

type Needs = {
  outbox: Outbox
  clock: Clock
  serviceDomain: string
  /** Waits in real time, because moving the development clock would skip the delay. */
  wait?: (milliseconds: number) => Promise<unknown>
}

export const makeLocalProvider = ({ outbox, clock, serviceDomain, wait = pause }: Needs): EmailProvider => ({
  name,
  send: async (mail) => {
    const scenarios = recipientsOf(mail).map((address) => scenarioOf(address, serviceDomain))
    if (scenarios.includes('refused')) throw new HandoverFault('refused', name, '550 5.7.1 Refused by the simulator')
    if (scenarios.includes('slow')) await wait(slowMs)
    const at = clock.now()
    const id = `local_${newId('message', at.getTime())}`
    await outbox.add({ id, channel: 'email', ...idsOf(mail), mail: toStored(mail), at })
    const reports = simulatedReports(mail, serviceDomain, at)
    return { provider: name, providerMessageId: id, ...(reports.length > 0 && { reports }) }
  },
  close: () => outbox.drained(),
})
