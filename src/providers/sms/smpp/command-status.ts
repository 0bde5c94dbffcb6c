/** What the status of an answer means for the message. */
import { HandoverFault, type HandoverFaultKind } from '../../handover.ts'

export const smppName = 'smpp'

const throttled: ReadonlySet<string> = new Set(['ESME_RTHROTTLED', 'ESME_RMSGQFUL'])

/** About the session or the message centre, not about the message. Another provider, or a later attempt, may work. */
const unavailable: ReadonlySet<string> = new Set([
  'ESME_RINVBNDSTS',
  'ESME_RALYBND',
  'ESME_RSYSERR',
  'ESME_RBINDFAIL',
  'ESME_RINVPASWD',
  'ESME_RINVSYSID',
  'ESME_RX_T_APPN',
  'ESME_RUNKNOWNERR',
  'ESME_RSERTYPUNAVAIL',
])

const kindOf = (statusName: string): HandoverFaultKind => {
  if (throttled.has(statusName)) return 'throttled'
  // Every other status is permanent, also those that only one vendor knows.
  return unavailable.has(statusName) ? 'unavailable' : 'refused'
}

const texts: Record<HandoverFaultKind, string> = {
  refused: 'The message centre refused the message',
  throttled: 'The message centre takes no more messages for the moment',
  unavailable: 'The message centre did not take the message',
  uncertain: 'The message centre did not confirm the message. It may have been sent',
}

export const smppFault = (kind: HandoverFaultKind, cause?: unknown): HandoverFault =>
  new HandoverFault(kind, smppName, `${texts[kind]}.`, { cause })

/** The name of a status, as the specification and the package write it. */
export const statusName = (errors: Record<string, number>, status: number): string =>
  Object.entries(errors).find(([, value]) => value === status)?.[0] ?? 'unknown'

export const faultOfStatus = (errors: Record<string, number>, status: number): HandoverFault => {
  const code = statusName(errors, status)
  const kind = kindOf(code)
  const text = `${texts[kind]}: status 0x${status.toString(16).padStart(2, '0')} (${code}).`
  return new HandoverFault(kind, smppName, text, { cause: { code } })
}
