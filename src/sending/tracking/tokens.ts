/** Signed tokens of the links in mail. A token contains all the data that its link needs and never expires. */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import { derivedKey, type MasterKeys } from '../../platform/ground/derived-key.ts'
import { type IdKind, isId, prefixes } from '../../platform/ground/ids.ts'
import type { Environment } from '../../platform/ground/scope.ts'

export type MessageRef = { orgId: string; messageId: string }
export type ClickRef = MessageRef & { url: string }
export type UnsubscribeRef = {
  orgId: string
  tenantId: string | null
  environment: Environment
  address: string
  messageId: string | null
}

export interface TokenKind<Ref> {
  sign(ref: Ref): string
  /**
   * Undefined for a token that was not signed here, is of another kind, or whose key is no longer configured. Never
   * throws.
   */
  read(token: string): Ref | undefined
}

const digits = '0123456789abcdefghjkmnpqrstvwxyz'
const digitValues = new Map([...digits].map((digit, value) => [digit, value]))

const idBytes = 16

/** The 26 digits of an id are 128 bits after two leading zero bits. Its position in the token implies its prefix. */
const packId = (kind: IdKind, id: string): Buffer => {
  if (!isId(kind, id)) throw new Error(`cannot sign a token for ${JSON.stringify(id)}, which is not a valid ${kind} id`)
  const bytes = Buffer.alloc(idBytes)
  let buffer = 0
  let bits = -2
  let at = 0
  for (const digit of id.slice(-26)) {
    buffer = (buffer << 5) | (digitValues.get(digit) as number)
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = buffer >>> bits
      buffer &= (1 << bits) - 1
    }
  }
  return bytes
}

const unpackId = (kind: IdKind, bytes: Buffer): string => {
  let out = ''
  let buffer = 0
  let bits = 2
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out += digits[buffer >>> bits]
      buffer &= (1 << bits) - 1
    }
  }
  return `${prefixes[kind]}_${out}`
}

/** Reads the fields of a payload in order. */
const reader = (payload: Buffer) => {
  let at = 0
  const take = (count: number): Buffer => {
    at += count
    return payload.subarray(at - count, at)
  }
  return {
    byte: (): number => take(1)[0] as number,
    id: (kind: IdKind): string => unpackId(kind, take(idBytes)),
    rest: (): string => payload.subarray(at).toString('utf8'),
  }
}

type Form<Ref> = { purpose: string; pack(ref: Ref): Buffer[]; unpack(payload: Buffer): Ref }

let lastPacked: MessageRef & { bytes: Buffer } = { orgId: '', messageId: '', bytes: Buffer.alloc(0) }

/** Remembers the latest message, because a mail can have many links. */
const packMessage = ({ orgId, messageId }: MessageRef): Buffer => {
  if (lastPacked.orgId !== orgId || lastPacked.messageId !== messageId) {
    const bytes = Buffer.concat([packId('org', orgId), packId('message', messageId)])
    lastPacked = { orgId, messageId, bytes }
  }
  return lastPacked.bytes
}

const readMessage = (read: ReturnType<typeof reader>): MessageRef => {
  return { orgId: read.id('org'), messageId: read.id('message') }
}

const messageForm: Form<MessageRef> = {
  purpose: 'open',
  pack: (message) => [packMessage(message)],
  unpack: (payload) => readMessage(reader(payload)),
}

const clickForm: Form<ClickRef> = {
  purpose: 'click',
  pack: (click) => [packMessage(click), Buffer.from(click.url)],
  unpack: (payload) => {
    const read = reader(payload)
    return { ...readMessage(read), url: read.rest() }
  },
}

const flags = { tenant: 1, message: 2, test: 4 }

const unsubscribeForm: Form<UnsubscribeRef> = {
  purpose: 'unsubscribe',
  pack: ({ orgId, tenantId, environment, address, messageId }) => [
    Buffer.of(
      (tenantId === null ? 0 : flags.tenant) |
        (messageId === null ? 0 : flags.message) |
        (environment === 'test' ? flags.test : 0),
    ),
    packId('org', orgId),
    ...(tenantId === null ? [] : [packId('tenant', tenantId)]),
    ...(messageId === null ? [] : [packId('message', messageId)]),
    Buffer.from(address),
  ],
  unpack: (payload) => {
    const read = reader(payload)
    const flag = read.byte()
    return {
      orgId: read.id('org'),
      tenantId: flag & flags.tenant ? read.id('tenant') : null,
      messageId: flag & flags.message ? read.id('message') : null,
      environment: flag & flags.test ? 'test' : 'live',
      address: read.rest(),
    }
  },
}

/** Half of a SHA-256. 128 bits are safe from guessing, and they keep the many links in a mail short. */
const macBytes = 16

/** Longer than any token that is signed here. A longer text is not decoded. */
const longestToken = 8_192

const makeKind = <Ref>({ masterKey, previous }: MasterKeys, form: Form<Ref>): TokenKind<Ref> => {
  // Each kind has its own key, so that a token is not valid as another kind. They are key objects, because importing a
  // key for every signature costs several times as much as the signature.
  const keys = [masterKey, ...previous].map((key) =>
    createSecretKey(derivedKey(key, `tidings tracking ${form.purpose}`)),
  )
  const mac = (key: KeyObject, payload: Buffer): Buffer =>
    createHmac('sha256', key).update(payload).digest().subarray(0, macBytes)
  return {
    sign: (ref) => {
      const payload = Buffer.concat(form.pack(ref))
      return Buffer.concat([payload, mac(keys[0] as KeyObject, payload)]).toString('base64url')
    },
    read: (token) => {
      if (token.length > longestToken) return undefined
      const bytes = Buffer.from(token, 'base64url')
      // The decoder ignores invalid characters and spare bits, so several texts would decode to the same token.
      if (bytes.length <= macBytes || bytes.toString('base64url') !== token) return undefined
      const payload = bytes.subarray(0, -macBytes)
      const signature = bytes.subarray(-macBytes)
      return keys.some((key) => timingSafeEqual(mac(key, payload), signature)) ? form.unpack(payload) : undefined
    },
  }
}

export const makeTokens = (keys: MasterKeys) => ({
  open: makeKind(keys, messageForm),
  click: makeKind(keys, clickForm),
  unsubscribe: makeKind(keys, unsubscribeForm),
})

export type Tokens = ReturnType<typeof makeTokens>
