/** The SMS provider for development: stores every message in the outbox and simulates outcomes. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { callingCodeOf, isE164 } from '../../platform/ground/phone-number.ts'
import { HandoverFault } from '../handover.ts'
import { idsOf, type Outbox } from '../outbox/local-outbox.ts'
import type { Sms, SmsProvider } from './sms-provider.ts'
import { refusedNumber, simulatedReport, slowNumber } from './sms-simulator.ts'

const name = 'local'
const slowMs = 3_000

type Needs = {
  outbox: Outbox
  clock: Clock
  /** Waits in real time, because moving the development clock would skip the delay. */
  wait?: (milliseconds: number) => Promise<unknown>
}

const refusalOf = ({ to }: Sms): string | undefined => {
  if (!isE164(to)) return 'The recipient is not a number in E.164 form'
  if (!callingCodeOf(to)) return 'The recipient has no assigned calling code'
  return to === refusedNumber ? 'Refused by the simulator' : undefined
}

export const makeLocalSmsProvider = ({ outbox, clock, wait = pause }: Needs): SmsProvider => ({
  name,
  send: async (sms) => {
    const refusal = refusalOf(sms)
    if (refusal !== undefined) throw new HandoverFault('refused', name, refusal)
    if (sms.to === slowNumber) await wait(slowMs)
    const at = clock.now()
    const id = `local_${newId('message', at.getTime())}`
    const { from, to, body, mediaUrl, dlt } = sms
    const mail = {
      from,
      body,
      recipients: [to],
      media_url: mediaUrl,
      dlt: dlt && { entity_id: dlt.entityId, template_id: dlt.templateId },
    }
    await outbox.add({ id, channel: 'sms', ...idsOf(sms), mail, at })
    const report = simulatedReport(sms, at)
    return { provider: name, providerMessageId: id, ...(report && { reports: [report] }) }
  },
  close: () => outbox.drained(),
})
