/** DKIM signatures (RFC 6376): rsa-sha256, relaxed/relaxed. Our own, because the mail library cannot oversign. */
import { sign } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { promisify } from 'node:util'
import { digestBody } from './dkim-body.ts'
import type { Mail } from './email-provider.ts'

/**
 * Signed once more than they occur, absent ones included. Adding another header of these names breaks the signature,
 * so a signed message cannot be sent again with a second From or Subject that a mail program shows instead. Both headers
 * of one-click unsubscribe must be signed (RFC 8058).
 */
const oversigned = [
  'from',
  'to',
  'cc',
  'subject',
  'reply-to',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'list-unsubscribe',
  'list-unsubscribe-post',
]

/** Signed as often as they occur. */
const signed = [
  'sender',
  'in-reply-to',
  'references',
  'content-transfer-encoding',
  'list-id',
  'list-help',
  'x-service-message-id',
]

type DkimKey = NonNullable<Mail['dkim']>
type Field = { name: string; canonical: string }

/** Texts contain one character per byte, so that every byte of the message is kept. */
const readField = (line: string): Field => {
  const colon = line.indexOf(':')
  const name = line
    .slice(0, colon)
    .replace(/[ \t]+$/, '')
    .toLowerCase()
  const value = line
    .slice(colon + 1)
    .replaceAll('\r\n', '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '')
  return { name, canonical: `${name}:${value}` }
}

/** The value of `h=`, and the headers in that order. Of equal names the last header comes first; absent ones are empty. */
const chooseHeaders = (fields: Field[]): { names: string[]; canonical: string[] } => {
  const names: string[] = []
  const canonical: string[] = []
  for (const name of [...oversigned, ...signed]) {
    const present = fields.filter((field) => field.name === name).reverse()
    canonical.push(...present.map((field) => field.canonical))
    names.push(...present.map(() => name), ...(oversigned.includes(name) ? [name] : []))
  }
  return { names, canonical }
}

/** Puts parts on lines of at most 76 characters, each but the first starting with a space. */
const fold = (parts: string[], separator: string): string => {
  const lines: string[] = []
  let line = ''
  parts.forEach((part, i) => {
    const text = i < parts.length - 1 ? part + separator : part
    if (line.length + text.length > 75) {
      lines.push(line)
      line = ''
    }
    line += text
  })
  return [...lines, line].join('\r\n ')
}

const signAsync = promisify(sign)

/** Returns the message with a DKIM-Signature header in front. */
export const signDkim = async (raw: Buffer, { domain, selector, privateKey }: DkimKey): Promise<Buffer> => {
  const blank = raw.indexOf('\r\n\r\n')
  const end = blank < 0 ? raw.length : blank
  const head = raw.toString('latin1', 0, end)
  const { names, canonical } = chooseHeaders(head.split(/\r\n(?![ \t])/).map(readField))
  const unsigned = [
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; q=dns/txt;`,
    `d=${domainToASCII(domain) || domain}; s=${selector};`,
    `bh=${(await digestBody(raw.subarray(end + 4))).toString('base64')};`,
    `h=${fold(names, ':')};`,
    'b=',
  ].join('\r\n ')
  const input = Buffer.from([...canonical, readField(unsigned).canonical].join('\r\n'), 'latin1')
  const signature = await signAsync('sha256', input, privateKey).catch((cause) => {
    throw new Error(`the DKIM key of ${domain} cannot sign a message`, { cause })
  })
  const value = signature.toString('base64').match(/.{1,72}/g) ?? []
  return Buffer.concat([Buffer.from(`${unsigned}${value.join('\r\n ')}\r\n`, 'latin1'), raw])
}
