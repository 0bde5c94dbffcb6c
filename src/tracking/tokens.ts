/** Tokens of links in mail: what they name, packed and signed. They carry everything needed and never expire. */
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { type IdKind, isId, prefixes } from '../ground/ids.ts'
import type { Environment } from '../ground/scope.ts'

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
  /** Undefined for whatever was not signed here, as this kind, under a key still known. Never throws. */
  read(token: string): Ref | undefined
}

export type Tokens = {
  open: TokenKind<MessageRef>
  click: TokenKind<ClickRef>
  unsubscribe: TokenKind<UnsubscribeRef>
}

const digits = '0123456789abcdefghjkmnpqrstvwxyz'
const worth = new Map([...digits].map((digit, value) => [digit, value]))

const idBytes = 16

/** The 26 digits of an id are 128 bits with two leading zero bits; its prefix is known from where it stands. */
const packId = (kind: IdKind, id: string): Buffer => {
  if (!isId(kind, id)) throw new Error(`a token cannot name the ${kind} ${JSON.stringify(id)}`)
  const bytes = Buffer.alloc(idBytes)
  let held = 0
  let bits = -2
  let at = 0
  for (const digit of id.slice(-26)) {
    held = (held << 5) | (worth.get(digit) as number)
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = held >>> bits
      held &= (1 << bits) - 1
    }
  }
  return bytes
}

const unpackId = (kind: IdKind, bytes: Buffer): string => {
  let out = ''
  let held = 0
  let bits = 2
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      out += digits[held >>> bits]
      held &= (1 << bits) - 1
    }
  }
  return `${prefixes[kind]}_${out}`
}

/** Takes a payload apart, front to back. */
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

const messageForm: Form<MessageRef> = {
  purpose: 'open',
  pack: ({ orgId, messageId }) => [packId('org', orgId), packId('message', messageId)],
  unpack: (payload) => {
    const read = reader(payload)
    return { orgId: read.id('org'), messageId: read.id('message') }
  },
}

const clickForm: Form<ClickRef> = {
  purpose: 'click',
  pack: ({ url, ...message }) => [...messageForm.pack(message), Buffer.from(url)],
  unpack: (payload) => {
    const read = reader(payload)
    return { orgId: read.id('org'), messageId: read.id('message'), url: read.rest() }
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

/** Half of a SHA-256: nobody guesses 128 bits, and mail is full of these links. */
const macBytes = 16

/** Above every token made here; what is longer is not even decoded. */
const longestToken = 8_192

type Keys = { masterKey: Buffer; previous: Buffer[] }

const makeKind = <Ref>({ masterKey, previous }: Keys, form: Form<Ref>): TokenKind<Ref> => {
  // A key of its own for each kind, so that no token passes for one of another kind. As objects, since preparing a
  // key anew costs several times what the signature does.
  const keys = [masterKey, ...previous].map((key) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `tidings tracking ${form.purpose}`, 32))),
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
      // Decoding passes over foreign characters and spare bits, so several texts would read as one token.
      if (bytes.length <= macBytes || bytes.toString('base64url') !== token) return undefined
      const payload = bytes.subarray(0, -macBytes)
      const given = bytes.subarray(-macBytes)
      return keys.some((key) => timingSafeEqual(mac(key, payload), given)) ? form.unpack(payload) : undefined
    },
  }
}

export const makeTokens = (keys: Keys): Tokens => ({
  open: makeKind(keys, messageForm),
  click: makeKind(keys, clickForm),
  unsubscribe: makeKind(keys, unsubscribeForm),
})
