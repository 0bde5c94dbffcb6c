/**
 * The signed local part of a return path. It identifies the message that a bounce is about, and proves that the bounced
 * message was sent by this service.
 *
 * It has 64 characters, the longest local part that SMTP allows: a letter for its kind, 50 digits of payload and 13 of
 * signature. The digits are base32 in lower case, because some servers change the case of addresses.
 */
import { sameBytes } from '../../../platform/ground/crypto.ts'
import { derivedHmacs, type MasterKeys } from '../../../platform/ground/derived-key.ts'
import { type IdKind, isId, prefixes } from '../../../platform/ground/ids.ts'

export type ReturnRef = {
  orgId: string
  /** The message, or the verification of a one-time code. */
  messageId: string
  /** The position among To, Cc and Bcc of the only recipient of the envelope. Null when the envelope has several. */
  recipient: number | null
}

const digits = '0123456789abcdefghjkmnpqrstvwxyz'
/** What the token identifies. */
const kinds = { b: 'message', v: 'verification' } as const
type KindLetter = keyof typeof kinds
const payloadDigits = 50
const signatureDigits = 13
const shape = new RegExp(`^[${Object.keys(kinds).join('')}][${digits}]{${payloadDigits + signatureDigits}}$`)

const digitValues = new Map([...digits].map((digit, value) => [digit, value]))
const valueAt = (text: string, at: number): number => digitValues.get(text[at] as string) ?? 0

/** The value of the recipient field, of 6 bits, for an envelope with several recipients. */
const several = 63

/**
 * An id is a UUIDv7 in 26 digits. Its version and variant are constants, and its first two bits are zero. They are in the
 * digits 0, 10 and 13, of which 7 bits remain. The other 23 digits are copied.
 */
type PackedId = { copied: string; bits: number }

/** Digit 10: four bits of the version and one of the counter. Digit 13: the counter's last, the variant, two random. */
const versionDigit = 0b01110
const variantDigit = 0b01000
const variantBits = 0b01100

const packId = (kind: IdKind, id: string): PackedId | undefined => {
  if (!isId(kind, id)) return undefined
  const text = id.slice(-26)
  const tenth = valueAt(text, 10)
  const thirteenth = valueAt(text, 13)
  if ((tenth & 0b11110) !== versionDigit || (thirteenth & variantBits) !== variantDigit) return undefined
  const counter = (tenth & 1) * 8 + (thirteenth >> 4) * 4
  return {
    copied: text.slice(1, 10) + text.slice(11, 13) + text.slice(14),
    bits: valueAt(text, 0) * 16 + counter + (thirteenth & 0b00011),
  }
}

const unpackId = (kind: IdKind, copied: string, bits: number): string => {
  const first = digits[(bits >> 4) & 7]
  const tenth = digits[versionDigit | ((bits >> 3) & 1)]
  const thirteenth = digits[(((bits >> 2) & 1) << 4) | variantDigit | (bits & 3)]
  return `${prefixes[kind]}_${first}${copied.slice(0, 9)}${tenth}${copied.slice(9, 11)}${thirteenth}${copied.slice(11)}`
}

const copiedDigits = 23

const letterOf = (messageId: string): KindLetter => (isId('verification', messageId) ? 'v' : 'b')

const payloadOf = ({ orgId, messageId, recipient }: ReturnRef): string | undefined => {
  const org = packId('org', orgId)
  const message = packId(kinds[letterOf(messageId)], messageId)
  if (!org || !message) return undefined
  const index = recipient === null || recipient < 0 || recipient >= several ? several : recipient
  const rest = (org.bits << 13) | (message.bits << 6) | index
  const restDigits = `${digits[rest >> 15]}${digits[(rest >> 10) & 31]}${digits[(rest >> 5) & 31]}${digits[rest & 31]}`
  return org.copied + message.copied + restDigits
}

const refOf = (letter: KindLetter, payload: string): ReturnRef => {
  let rest = 0
  for (let at = 2 * copiedDigits; at < payloadDigits; at++) rest = rest * 32 + valueAt(payload, at)
  const index = rest & 63
  return {
    orgId: unpackId('org', payload.slice(0, copiedDigits), rest >> 13),
    messageId: unpackId(kinds[letter], payload.slice(copiedDigits, 2 * copiedDigits), (rest >> 6) & 127),
    recipient: index === several ? null : index,
  }
}

/** The letter of a message is not signed, because tokens of earlier releases were signed without it. */
const signed = (letter: KindLetter, payload: string): string => (letter === 'b' ? payload : `${letter}${payload}`)

/** 65 bits of the digest. Each guess needs an SMTP command, and is of use only with the ids of a message. */
const signatureOf = (hmac: (text: string) => string, payload: string): string => {
  const digest = Buffer.from(hmac(payload).slice(0, 2 * signatureDigits), 'hex')
  let out = ''
  for (const byte of digest) out += digits[byte & 31]
  return out
}

export const makeReturnTokens = (keys: MasterKeys) => {
  const hmacs = derivedHmacs(keys, 'tidings return path')
  return {
    /** Undefined for an id that this service did not make. */
    sign: (ref: ReturnRef): string | undefined => {
      const payload = payloadOf(ref)
      const letter = letterOf(ref.messageId)
      return payload && `${letter}${payload}${signatureOf(hmacs[0], signed(letter, payload))}`
    },
    /** Undefined for a text that is not a token, and for a token that was not signed here. Never throws. */
    read: (localPart: string): ReturnRef | undefined => {
      const token = localPart.toLowerCase()
      if (!shape.test(token)) return undefined
      const payload = token.slice(1, 1 + payloadDigits)
      const signature = token.slice(1 + payloadDigits)
      const letter = token[0] as KindLetter
      const text = signed(letter, payload)
      return hmacs.some((hmac) => sameBytes(signatureOf(hmac, text), signature)) ? refOf(letter, payload) : undefined
    },
  }
}

export type ReturnTokens = ReturnType<typeof makeReturnTokens>
