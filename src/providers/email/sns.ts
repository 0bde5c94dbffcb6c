/** Verifies that a message comes from one of our Amazon SNS topics. */
import { verify, X509Certificate } from 'node:crypto'
import { request } from 'undici'
import { z } from 'zod'
import type { Clock } from '../../platform/ground/clock.ts'
import { SignatureFault } from '../bad-signature.ts'

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

/** The signed fields, in signature order. Absent fields are left out. */
const signedFields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const

const canonicalText = (message: SnsMessage): string => {
  const fields = message as Record<string, unknown>
  return signedFields[message.Type]
    .filter((name) => fields[name] !== undefined && fields[name] !== null)
    .map((name) => `${name}\n${fields[name]}\n`)
    .join('')
}

/** Parses a URL of SNS. Returns undefined for any other host, including those that only look like SNS. */
export const snsAddress = (address: string): URL | undefined => {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  const plain = url.protocol === 'https:' && url.port === '' && url.username === '' && url.password === ''
  return plain && /^sns\.[a-z]{2}(-[a-z]+){1,3}-\d{1,2}\.amazonaws\.com$/.test(url.hostname) ? url : undefined
}

export type FetchText = (url: string) => Promise<string>

/** SNS responded with a client error: nothing exists at that URL. */
export class SnsNotFoundFault extends Error {}

/** Fetches a short text from SNS. Does not follow redirects. */
export const fetchFromSns: FetchText = async (url) => {
  const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(10_000) })
  let read = ''
  for await (const chunk of body.setEncoding('utf8')) {
    read += chunk
    if (read.length > 65_536) throw new Error('response from SNS is too large')
  }
  if (statusCode >= 400 && statusCode < 500 && statusCode !== 429)
    throw new SnsNotFoundFault(`SNS responded with ${statusCode}`)
  if (statusCode !== 200) throw new Error(`SNS responded with ${statusCode}`)
  return read
}

const maxCachedCertificates = 16

/** Caches certificates by URL. Concurrent callers share one fetch. */
const makeCertificates = (fetchCertificate: FetchText) => {
  const cache = new Map<string, Promise<X509Certificate>>()
  return (url: string): Promise<X509Certificate> => {
    const known = cache.get(url)
    if (known) return known
    const fetched = fetchCertificate(url).then(
      (pem) => {
        try {
          return new X509Certificate(pem)
        } catch (cause) {
          throw new SignatureFault('certificate cannot be parsed', { cause })
        }
      },
      (cause) => {
        throw cause instanceof SnsNotFoundFault ? new SignatureFault('certificate does not exist', { cause }) : cause
      },
    )
    cache.set(url, fetched)
    // Failures are not cached: the next message fetches again.
    fetched.catch(() => cache.delete(url))
    const [oldest] = cache.keys()
    if (cache.size > maxCachedCertificates && oldest !== undefined) cache.delete(oldest)
    return fetched
  }
}

type Needs = { topics: readonly string[]; fetchCertificate: FetchText; clock: Clock }

/**
 * Verifies a message that was parsed from JSON. Throws SignatureFault when verification fails, and any other error when it could not
 * be completed.
 */
export const makeSnsReader = ({ topics, fetchCertificate, clock }: Needs) => {
  const certificateAt = makeCertificates(fetchCertificate)

  return async (notification: unknown): Promise<SnsMessage> => {
    const { data: message } = SnsMessage.safeParse(notification)
    if (!message) throw new SignatureFault('body is not an SNS message')
    // Checked before the certificate is fetched. The signature alone is not enough: SNS signs everyone's topics.
    if (!topics.includes(message.TopicArn)) throw new SignatureFault('topic is not configured')
    const url = snsAddress(message.SigningCertURL)
    if (!url?.pathname.endsWith('.pem')) throw new SignatureFault('certificate URL is not at SNS')
    const certificate = await certificateAt(`${url.origin}${url.pathname}`)
    const now = clock.millis()
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo)) {
      throw new SignatureFault('certificate is expired or not yet valid')
    }
    const hash = message.SignatureVersion === '1' ? 'sha1' : 'sha256'
    const signature = Buffer.from(message.Signature, 'base64')
    const { publicKey } = certificate
    const isValid =
      publicKey.asymmetricKeyType === 'rsa' &&
      verify(hash, Buffer.from(canonicalText(message), 'utf8'), publicKey, signature)
    if (!isValid) throw new SignatureFault('signature does not match')
    return message
  }
}
