/** Reads `deliver_sm` requests: receipts for sent messages, and inbound messages. */
import type { Pdu } from 'smpp'
import type { InboundSms } from '../sms-provider.ts'

export type SmppReceipt = {
  /** The message centre's id, in the forms that it may have had in the answer to `submit_sm`. The likeliest is first. */
  ids: string[]
  /** What the message centre wrote, such as DELIVRD. */
  state: string
  /** The same as a status token. */
  token: string
  /** The message centre's code of the error. */
  error: string | null
  /** The last digits of the recipient's number. Shorter when the message centre did not name it. */
  recipientEnd: string
}

const states: Record<string, string> = {
  SCHEDULED: 'PENDING',
  ENROUTE: 'PENDING',
  ACCEPTED: 'PENDING',
  ACCEPTD: 'PENDING',
  DELIVERED: 'DELIVERED',
  DELIVRD: 'DELIVERED',
  EXPIRED: 'EXPIRED',
  DELETED: 'FAILURE',
  UNDELIVERABLE: 'FAILURE',
  UNDELIV: 'FAILURE',
  REJECTED: 'FAILURE',
  REJECTD: 'FAILURE',
  SKIPPED: 'FAILURE',
}

/** The states by their number in the field `message_state`. */
const numbered = [
  'SCHEDULED',
  'ENROUTE',
  'DELIVERED',
  'EXPIRED',
  'DELETED',
  'UNDELIVERABLE',
  'ACCEPTED',
  'UNKNOWN',
  'REJECTED',
  'SKIPPED',
]

const endLength = 4

/** Compared instead of the number, which some message centres write in national form. */
export const endOfNumber = (number: string): string => number.replace(/\D/g, '').slice(-endLength)

const isHex = (id: string): boolean => /^[0-9a-f]+$/i.test(id)

/** One form of an id: hexadecimal digits in lower case, without leading zeros. Other ids stay as they are. */
export const plainId = (id: string): string => {
  const bounded = id.trim().slice(0, 100)
  return isHex(bounded) ? bounded.toLowerCase().replace(/^0+(?=.)/, '') : bounded
}

/** Some message centres answer in hexadecimal and write receipts in decimal, or the reverse. */
const formsOf = (id: string): string[] => {
  const forms = [plainId(id)]
  if (/^\d+$/.test(id)) forms.push(BigInt(id).toString(16))
  if (isHex(id)) forms.push(BigInt(`0x${id}`).toString())
  return [...new Set(forms)]
}

/** The kind of the message in `esm_class`. */
const kindMask = 0x3c
const finalReceipt = 0x04
const intermediateNotification = 0x20

export const isReceipt = ({ esm_class = 0 }: Pdu): boolean =>
  (esm_class & kindMask) === finalReceipt || (esm_class & kindMask) === intermediateNotification

type Decode = { encode(text: string): Buffer }

const textOf = ({ short_message, message_payload }: Pdu): string => {
  const texts = [short_message?.message, message_payload?.message]
  const found = texts.find((text) => text !== undefined && text.length > 0) ?? ''
  return typeof found === 'string' ? found : found.toString('latin1')
}

/** Receipts are ASCII. The package reads the default coding as GSM-7, where `_` and `@` are other letters. */
const receiptTextOf = (pdu: Pdu, gsm: Decode): string =>
  (pdu.data_coding ?? 0) === 0 ? gsm.encode(textOf(pdu)).toString('latin1') : textOf(pdu)

/** The field is not always terminated, and the package then reads on. */
const printable = (text: string | undefined): string | undefined => /^[\x21-\x7e]{1,100}/.exec(text ?? '')?.[0]

/** Undefined when the text names no message. */
export const readReceipt = (pdu: Pdu, gsm: Decode): SmppReceipt | undefined => {
  const text = receiptTextOf(pdu, gsm).slice(0, 1_000)
  const id = printable(pdu.receipted_message_id) ?? /\bid:\s*([\x21-\x7e]{1,100})/i.exec(text)?.[1]
  if (id === undefined) return undefined
  const written = /\bstat:\s*([a-z]{1,20})/i.exec(text)?.[1]?.toUpperCase()
  const state = (pdu.message_state === undefined ? undefined : numbered[pdu.message_state]) ?? written ?? 'UNKNOWN'
  const error = /\berr:\s*([\w-]{1,20})/i.exec(text)?.[1] ?? null
  return {
    ids: formsOf(id),
    state,
    token: states[state] ?? 'UNKNOWN',
    error: error === null || /^0+$/.test(error) ? null : error,
    recipientEnd: endOfNumber(pdu.source_addr ?? ''),
  }
}

const numberOf = (address = '', ton = 0): string => (ton === 1 && /^\d+$/.test(address) ? `+${address}` : address)

/** The place of this part in a long message, from an element of the user data header or from its own field. */
const partOf = ({ short_message, message_payload, sar_segment_seqnum }: Pdu): number => {
  const headers = [short_message?.udh, message_payload?.udh].flat()
  for (const element of headers) {
    // Identifier, length, reference of one or two bytes, number of parts, part.
    if (element?.[0] === 0x00 && element.length >= 5) return element[4] as number
    if (element?.[0] === 0x08 && element.length >= 6) return element[5] as number
  }
  return typeof sar_segment_seqnum === 'number' ? sar_segment_seqnum : 1
}

/** SMPP has no id for inbound messages. Some message centres put theirs into the field of receipts. */
export const readInbound = (pdu: Pdu, at: Date): InboundSms => ({
  provider: 'smpp',
  id: printable(pdu.receipted_message_id) ?? null,
  from: numberOf(pdu.source_addr, pdu.source_addr_ton),
  to: numberOf(pdu.destination_addr, pdu.dest_addr_ton),
  body: textOf(pdu),
  mediaUrl: [],
  isContinuation: partOf(pdu) > 1,
  at,
})
