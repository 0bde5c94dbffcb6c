import { createCipheriv, createDecipheriv, hash, randomBytes, timingSafeEqual } from 'node:crypto'

export const sha256 = (text: string | Buffer): Buffer => hash('sha256', text, 'buffer')
export const sha256Hex = (text: string | Buffer): string => hash('sha256', text)

/**
 * HMAC-SHA256 of many texts with one key, in hex. Implements RFC 2104 on one-shot digests, because Node's createHmac
 * allocates an object for every text, which costs more than both digests together.
 */
export const makeHmac = (secret: string): ((text: string) => string) => {
  const block = 64
  const secretBytes = Buffer.from(secret)
  const key = Buffer.concat([secretBytes.length > block ? sha256(secretBytes) : secretBytes], block)
  let inner = Buffer.alloc(4_096)
  const outer = Buffer.alloc(block + 32)
  key.forEach((byte, i) => {
    inner[i] = byte ^ 0x36
    outer[i] = byte ^ 0x5c
  })
  return (text) => {
    const longest = block + text.length * 3
    if (longest > inner.length) inner = Buffer.concat([inner.subarray(0, block)], longest)
    const end = block + inner.write(text, block)
    outer.write(hash('sha256', inner.subarray(0, end), 'binary'), block, 'binary')
    return hash('sha256', outer)
  }
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Uniformly random base62 characters. Bytes from 248 (4 × 62) up are skipped, because they would bias the result. */
export const randomBase62 = (length: number): string => {
  let out = ''
  while (out.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && out.length < length) out += base62[byte % 62]
    }
  }
  return out
}

/** A number as fixed-width base62, most significant digit first. */
export const toBase62 = (value: number, width: number): string => {
  let rest = value
  let out = ''
  for (let i = 0; i < width; i++) {
    out = base62[rest % 62] + out
    rest = Math.floor(rest / 62)
  }
  return out
}

export const sameBytes = (a: string | Buffer, b: string | Buffer): boolean => {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Names a master key in what it encrypted or authenticated. */
export const masterKeyId = (key: Buffer): string => sha256Hex(key).slice(0, 8)

/**
 * AES-256-GCM with the master key. Each value contains the id of its key, so values sealed with a previous key still
 * open after the master key changes.
 */
export const makeVault = (current: Buffer, previous: Buffer[] = []) => {
  const keys = new Map([current, ...previous].map((key) => [masterKeyId(key), key]))
  const currentId = masterKeyId(current)
  return {
    /**
     * Encrypts a secret for storage. The context (table and row id) is authenticated too, so a value that is copied to
     * another row does not open there.
     */
    seal: (plain: string, context: string): string => {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', current, iv).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `v1.${currentId}.${iv.toString('base64url')}.${body.toString('base64url')}`
    },
    open: (sealed: string, context: string): string => {
      const [version, id, iv, body] = sealed.split('.')
      const key = keys.get(id ?? '')
      if (version !== 'v1' || !iv || !body) throw new Error('a sealed value has an unknown format')
      if (!key)
        throw new Error(
          `a sealed value needs the master key with id ${id}, which is not configured: add it to MASTER_KEY_PREVIOUS`,
        )
      const bytes = Buffer.from(body, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-16))
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
    },
  }
}

export type Vault = ReturnType<typeof makeVault>
