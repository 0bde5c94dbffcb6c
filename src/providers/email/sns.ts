/** Judges whether a message really comes from a topic of ours at Amazon SNS. */
import { verify, X509Certificate } from 'node:crypto'
import { request } from 'undici'
import { z } from 'zod'
import type { Clock } from '../../ground/clock.ts'

/** Whoever sent it has not shown to be one of our topics. The message is for the log, not for the sender. */
export class BadSignature extends Error {
  constructor(reason: string, options?: { cause?: unknown }) {
    super(reason, options)
    this.name = 'BadSignature'
  }
}

const text = z.string().max(262_144)

const common = {
  MessageId: text.min(1),
  TopicArn: text.min(1),
  Message: text,
  Timestamp: text.min(1),
  SignatureVersion: z.enum(['1', '2']),
  Signature: text.min(1),
  SigningCertURL: text,
}

const SnsMessage = z.discriminatedUnion('Type', [
  z.object({ ...common, Type: z.literal('Notification'), Subject: text.nullish() }),
  z.object({
    ...common,
    Type: z.enum(['SubscriptionConfirmation', 'UnsubscribeConfirmation']),
    SubscribeURL: text,
    Token: text,
  }),
])

export type SnsMessage = z.output<typeof SnsMessage>

/** The fields that are signed, in their order; one that is absent is left out. */
const signedFields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const

export const canonicalText = (message: SnsMessage): string => {
  const fields = message as Record<string, unknown>
  return signedFields[message.Type]
    .filter((name) => fields[name] !== undefined && fields[name] !== null)
    .map((name) => `${name}\n${fields[name]}\n`)
    .join('')
}

/** An address at SNS itself, and no other that only looks like it. */
export const snsAddress = (address: string): URL | undefined => {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  const plain = url.protocol === 'https:' && url.port === '' && url.username === '' && url.password === ''
  return plain && /^sns\.[a-z]{2}(-[a-z]+){1,3}-\d{1,2}\.amazonaws\.com$/.test(url.hostname) ? url : undefined
}

export type FetchText = (url: string) => Promise<string>

/** SNS knows nothing of that address. */
export class NotAtSns extends Error {}

/** A short text from SNS; redirects are not followed. */
export const fetchFromSns: FetchText = async (url) => {
  const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(10_000) })
  let read = ''
  for await (const chunk of body.setEncoding('utf8')) {
    read += chunk
    if (read.length > 65_536) throw new Error('SNS answered with more than was asked for')
  }
  if (statusCode >= 400 && statusCode < 500 && statusCode !== 429) throw new NotAtSns(`SNS answered ${statusCode}`)
  if (statusCode !== 200) throw new Error(`SNS answered ${statusCode}`)
  return read
}

const certificatesKept = 16

/** Certificates by their address: few, and each is fetched once while several wait for it. */
const makeCertificates = (fetchCertificate: FetchText) => {
  const kept = new Map<string, Promise<X509Certificate>>()
  return (url: string): Promise<X509Certificate> => {
    const known = kept.get(url)
    if (known) return known
    const fetched = fetchCertificate(url).then(
      (pem) => {
        try {
          return new X509Certificate(pem)
        } catch (cause) {
          throw new BadSignature('the certificate cannot be read', { cause })
        }
      },
      (cause) => {
        throw cause instanceof NotAtSns ? new BadSignature('its certificate is not there', { cause }) : cause
      },
    )
    kept.set(url, fetched)
    // A failure is not kept: the next message tries again.
    fetched.catch(() => kept.delete(url))
    const [oldest] = kept.keys()
    if (kept.size > certificatesKept && oldest !== undefined) kept.delete(oldest)
    return fetched
  }
}

const parse = (body: string): SnsMessage => {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch (cause) {
    throw new BadSignature('it is not JSON', { cause })
  }
  const read = SnsMessage.safeParse(json)
  if (!read.success) throw new BadSignature('it is not a message of SNS')
  return read.data
}

type Needs = { topics: readonly string[]; fetchCertificate: FetchText; clock: Clock }

/** The message once it is proven; BadSignature when it is not, any other error when that could not be found out. */
export const makeSnsReader = ({ topics, fetchCertificate, clock }: Needs) => {
  const certificateAt = makeCertificates(fetchCertificate)

  return async (body: string): Promise<SnsMessage> => {
    const message = parse(body)
    // Before anything is fetched: a stranger's topic is signed as well as ours.
    if (!topics.includes(message.TopicArn)) throw new BadSignature('its topic is none of ours')
    const url = snsAddress(message.SigningCertURL)
    if (!url?.pathname.endsWith('.pem')) throw new BadSignature('its certificate is not at SNS')
    const certificate = await certificateAt(`${url.origin}${url.pathname}`)
    const now = clock.millis()
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo)) {
      throw new BadSignature('its certificate is not valid now')
    }
    const hash = message.SignatureVersion === '1' ? 'sha1' : 'sha256'
    const signature = Buffer.from(message.Signature, 'base64')
    const { publicKey } = certificate
    const holds =
      publicKey.asymmetricKeyType === 'rsa' &&
      verify(hash, Buffer.from(canonicalText(message), 'utf8'), publicKey, signature)
    if (!holds) throw new BadSignature('its signature does not hold')
    return message
  }
}
