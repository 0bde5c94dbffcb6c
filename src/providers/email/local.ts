/** The provider of development: takes everything, keeps it in the outbox and plays the simulator recipients. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../ground/clock.ts'
import { newId } from '../../ground/ids.ts'
import type { Outbox } from '../outbox/keep.ts'
import { type EmailProvider, HandoverError } from './email-provider.ts'
import { keptFrom, recipientsOf } from './kept-mail.ts'
import { partOf, simulatedReports } from './simulator.ts'

const name = 'local'
const slowMs = 3_000

type Needs = {
  outbox: Outbox
  clock: Clock
  serviceDomain: string
  /** Real time, since a moved clock would not let anybody see slowness. */
  wait?: (milliseconds: number) => Promise<unknown>
}

export const makeLocalProvider = ({ outbox, clock, serviceDomain, wait = pause }: Needs): EmailProvider => ({
  name,
  send: async (mail) => {
    const parts = recipientsOf(mail).map((address) => partOf(address, serviceDomain))
    if (parts.includes('refused')) throw new HandoverError('refused', name, '550 5.7.1 Refused by the simulator')
    if (parts.includes('slow')) await wait(slowMs)
    const at = clock.now()
    const id = `local_${newId('message', at.getTime())}`
    const { messageId } = mail
    try {
      await outbox.keep({ id, channel: 'email', messageId, verificationId: null, mail: keptFrom(mail), at })
    } catch (cause) {
      throw new HandoverError('unavailable', name, 'The outbox could not be written.', { cause })
    }
    const reports = simulatedReports(mail, serviceDomain, at)
    return { provider: name, providerMessageId: id, ...(reports.length > 0 && { reports }) }
  },
  close: () => outbox.drained(),
})
