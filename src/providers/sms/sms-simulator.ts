/** Simulator numbers, which produce a chosen outcome, and simulated text messages in test mode. */
import { newId } from '../../platform/ground/ids.ts'
import type { Handover, Report } from '../handover.ts'
import type { Sms } from './sms-provider.ts'
import { reportOfToken } from './status-tokens.ts'

const tokens: Record<string, string> = {
  '+15005550001': 'DELIVERED',
  '+15005550002': 'BLOCKED',
  '+15005550003': 'FAILURE',
}

/** Accepted after three seconds by the local provider. */
export const slowNumber = '+15005550008'
/** Refused by the local provider. */
export const refusedNumber = '+15005550009'

export const simulatedReport = ({ to }: Pick<Sms, 'to'>, at: Date): Report | undefined => {
  const token = tokens[to]
  return token === undefined ? undefined : reportOfToken(token, to, at)
}

/** Simulates a send in test mode. No provider is called. */
export const simulateSms = (sms: Sms): Handover => {
  const report = simulatedReport(sms, sms.at)
  return {
    provider: 'simulator',
    providerMessageId: `test_${newId('message', sms.at.getTime())}`,
    ...(report && { reports: [report] }),
  }
}
