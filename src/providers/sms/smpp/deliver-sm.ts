/** Reads `deliver_sm` requests: receipts for sent messages, and inbound messages. */
import type { Pdu } from 'smpp'
import type { InboundSms, SmsPart } from '../sms-provider.ts'

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

/** More characters than a part of a message over a phone network has. */
const maxPartLength = 1_000

/** The reference, the number of parts and the part, from an element of the user data header or from their own fields. */
const partOf = (pdu: Pdu): SmsPart | undefined => {
  for (const element of [pdu.short_message?.udh, pdu.message_payload?.udh].flat()) {
    // Identifier, length, reference of one or two bytes, number of parts, part.
    const size = element?.[0] === 0x00 ? 1 : element?.[0] === 0x08 ? 2 : 0
    if (!element || size === 0 || element.length < 4 + size) continue
    const reference = `udh-${element.readUIntBE(2, size)}`
    return { reference, parts: element[2 + size] as number, part: element[3 + size] as number }
  }
  const { sar_msg_ref_num: reference, sar_total_segments: parts, sar_segment_seqnum: part } = pdu
  return typeof part === 'number' ? { reference: `sar-${reference ?? 0}`, parts: parts ?? 0, part } : undefined
}

/** What the fields say about a long message. Impossible numbers and texts are not waited for. */
const longMessageOf = (pdu: Pdu, body: string): Pick<InboundSms, 'part' | 'isContinuation'> => {
  const part = partOf(pdu)
  if (!part || part.part < 1) return { isContinuation: false }
  const isLong = part.parts > 1 && part.parts <= 255 && part.part <= part.parts && body.length <= maxPartLength
  return { isContinuation: part.part > 1, ...(isLong && { part }) }
}

/** SMPP has no id for inbound messages. Some message centres put theirs into the field of receipts. */
export const readInbound = (pdu: Pdu, at: Date): InboundSms => {
  const body = textOf(pdu)
  return {
    provider: 'smpp',
    id: printable(pdu.receipted_message_id) ?? null,
    from: numberOf(pdu.source_addr, pdu.source_addr_ton),
    to: numberOf(pdu.destination_addr, pdu.dest_addr_ton),
    body,
    mediaUrl: [],
    ...longMessageOf(pdu, body),
    at,
  }
}
