/**
 * The signed local part of a return path. It identifies the message that a bounce is about, and proves that the bounced
 * message was sent by this service.
 *
 * It has 64 characters, the longest local part that SMTP allows: a letter for its kind, 50 digits of payload and 13 of
 * signature. The digits are base32 in lower case, because some servers change the case of addresses.
 */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { sameBytes } from '../../ground/crypto.ts'
import { type IdKind, isId, prefixes } from '../../ground/ids.ts'

export type ReturnRef = {
  orgId: string
  messageId: string
  /** The position among To, Cc and Bcc of the only recipient of the envelope. Null when the envelope has several. */
  recipient: number | null
}

export interface ReturnTokens {
  /** Undefined for an id that this service did not make. */
  sign(ref: ReturnRef): string | undefined
  /** Undefined for a text that is not a token, and for a token that was not signed here. Never throws. */
  read(localPart: string): ReturnRef | undefined
}

const digits = '0123456789abcdefghjkmnpqrstvwxyz'
const kindLetter = 'b'
const payloadDigits = 50
const signatureDigits = 13
const shape = new RegExp(`^${kindLetter}[${digits}]{${payloadDigits + signatureDigits}}$`)

/** An id is a UUIDv7. Its version and variant are constants, which leaves 122 bits. */
const idBits = 122n
const lowBits = 62n
const counterBits = 12n
const version = 7n
const variant = 2n
const recipientBits = 6n
/** The value of the recipient field for an envelope with several recipients. */
const several = 63

const mask = (bits: bigint): bigint => (1n << bits) - 1n

const toNumber = (text: string): bigint => {
  let value = 0n
  for (const digit of text) value = (value << 5n) | BigInt(digits.indexOf(digit))
  return value
}

const toDigits = (value: bigint, count: number): string => {
  let out = ''
  for (let rest = value; out.length < count; rest >>= 5n) out = digits[Number(rest & 31n)] + out
  return out
}

const unpackId = (kind: IdKind, packed: bigint): string => {
  const low = packed & mask(lowBits)
  const counter = (packed >> lowBits) & mask(counterBits)
  const time = packed >> (lowBits + counterBits)
  const high = (((time << 4n) | version) << counterBits) | counter
  return `${prefixes[kind]}_${toDigits((((high << 2n) | variant) << lowBits) | low, 26)}`
}

const packId = (kind: IdKind, id: string): bigint | undefined => {
  if (!isId(kind, id)) return undefined
  const uuid = toNumber(id.slice(-26))
  const high = uuid >> (lowBits + 2n)
  const packed =
    ((((high >> (counterBits + 4n)) << counterBits) | (high & mask(counterBits))) << lowBits) | (uuid & mask(lowBits))
  return unpackId(kind, packed) === id ? packed : undefined
}

const payloadOf = ({ orgId, messageId, recipient }: ReturnRef): string | undefined => {
  const org = packId('org', orgId)
  const message = packId('message', messageId)
  if (org === undefined || message === undefined) return undefined
  const index = recipient === null || recipient < 0 || recipient >= several ? several : recipient
  return toDigits((((org << idBits) | message) << recipientBits) | BigInt(index), payloadDigits)
}

const refOf = (payload: string): ReturnRef => {
  const value = toNumber(payload)
  const index = Number(value & mask(recipientBits))
  return {
    orgId: unpackId('org', value >> (idBits + recipientBits)),
    messageId: unpackId('message', (value >> recipientBits) & mask(idBits)),
    recipient: index === several ? null : index,
  }
}

/** The first 65 bits. Each guess needs an SMTP command, and a guess is of use only with the ids of a recent message. */
const signatureOf = (key: KeyObject, payload: string): string => {
  const digest = createHmac('sha256', key).update(payload).digest()
  return toDigits(BigInt(`0x${digest.subarray(0, 9).toString('hex')}`) >> 7n, signatureDigits)
}

type Keys = { masterKey: Buffer; previous: Buffer[] }

export const makeReturnTokens = ({ masterKey, previous }: Keys): ReturnTokens => {
  const keys = [masterKey, ...previous].map((key) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'tidings return path', 32))),
  )
  return {
    sign: (ref) => {
      const payload = payloadOf(ref)
      return payload && `${kindLetter}${payload}${signatureOf(keys[0] as KeyObject, payload)}`
    },
    read: (localPart) => {
      const token = localPart.toLowerCase()
      if (!shape.test(token)) return undefined
      const payload = token.slice(1, 1 + payloadDigits)
      const signature = token.slice(1 + payloadDigits)
      return keys.some((key) => sameBytes(signatureOf(key, payload), signature)) ? refOf(payload) : undefined
    },
  }
}
