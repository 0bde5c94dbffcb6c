/** Hands mail to Amazon SES, in the region of its sending domain. */
import { createHash } from 'node:crypto'
import type { SESv2Client, SESv2ClientConfig } from '@aws-sdk/client-sesv2'
import { composeMime, mailEnvelopeOf, wireAddress } from './compose-mime.ts'
import { type Address, type EmailProvider, HandoverError, type HandoverFault, type Mail } from './email-provider.ts'
import { type HttpPatience, LostRequest, makeSdkHandler } from './ses-http.ts'

const name = 'ses'

/** By these an event of SES finds back to its message. */
export const sesTags = { org: 'tidings-org', message: 'tidings-message' } as const
/** Feedback notifications carry the headers of the mail but not its tags. */
export const orgHeader = 'X-Service-Org-Id'

type Needs = {
  /** Where mail goes whose domain names no region. */
  region: string
  configurationSet: string | undefined
  /** In place of the address of the region, for tests. */
  endpoint: string | undefined
  /** Undefined: the SDK's own chain of places. */
  credentials?: SESv2ClientConfig['credentials']
  patience?: HttpPatience
}

const usualPatience: HttpPatience = { connectMs: 5_000, answerMs: 20_000 }

/** The region becomes part of a host name. */
const isRegion = (text: string): boolean => /^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/.test(text)

/** Tags take less than ids might hold one day. */
const tagValue = (text: string): string => text.replace(/[^A-Za-z0-9_.@-]/g, '_').slice(0, 256)

/**
 * Pools are named freely, configuration sets are not. What SES would not take is written in its letters, and by the
 * digest behind it two pools never share a set because their names look alike then.
 */
const poolSet = (set: string, pool: string): string => {
  const plain = `${set}-${pool}`
  if (/^[A-Za-z0-9_-]{1,64}$/.test(plain)) return plain
  const digest = createHash('sha256').update(pool).digest('hex').slice(0, 8)
  return `${plain.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 55)}-${digest}`
}

const throttles = new Set(['TooManyRequestsException', 'ThrottlingException', 'Throttling', 'LimitExceededException'])
const refusals = new Set([
  'MessageRejected',
  'MessageRejectedException',
  'MailFromDomainNotVerifiedException',
  'AccountSuspendedException',
  'SendingPausedException',
  'BadRequestException',
])

type SdkError = Error & { $metadata?: { httpStatusCode?: number } }

const kindOf = (error: SdkError): HandoverFault => {
  if (error instanceof LostRequest) return error.sent ? 'uncertain' : 'unavailable'
  const status = error.$metadata?.httpStatusCode
  if (throttles.has(error.name) || status === 429 || /^454\b/.test(error.message)) return 'throttled'
  if (refusals.has(error.name)) return 'refused'
  // Without an answer nothing was sent: credentials or a region that cannot be found.
  if (status === undefined) return 'unavailable'
  // It said yes in words we cannot read.
  if (status < 300) return 'uncertain'
  // Keys, permissions, a configuration set that is not there: ours to mend, and another provider may do.
  if (status >= 500 || status === 401 || status === 403 || status === 404) return 'unavailable'
  return 'refused'
}

const wordsFor: Partial<Record<HandoverFault, string>> = {
  unavailable: 'Amazon SES could not be reached or did not accept our request.',
  uncertain: 'Amazon SES took the message and did not say what became of it.',
}

const faultOf = (error: unknown): HandoverError => {
  const kind = kindOf(error as SdkError)
  // What is wrong with the account or its keys is not for senders to read.
  return new HandoverError(kind, name, wordsFor[kind] ?? (error as Error).message, { cause: error })
}

const addresses = (parties: Address[]): string[] => parties.map(({ address }) => wireAddress(address))

export const makeSesProvider = (needs: Needs): EmailProvider => {
  const { configurationSet, endpoint, credentials, patience = usualPatience } = needs
  const handler = makeSdkHandler(patience)
  const clients = new Map<string, SESv2Client>()

  // Loaded at the first mail: the SDK is large, and most starts never need it.
  const loadSdk = () => import('@aws-sdk/client-sesv2')

  const clientFor = async (region: string): Promise<SESv2Client> => {
    const { SESv2Client } = await loadSdk()
    const known = clients.get(region)
    if (known) return known
    const client = new SESv2Client({
      region,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials }),
      // The chain and the scheduler decide about further attempts; they know what may be repeated.
      maxAttempts: 1,
      requestHandler: handler as NonNullable<SESv2ClientConfig['requestHandler']>,
    })
    clients.set(region, client)
    return client
  }

  /** A pool of IP addresses is reached through a configuration set of its own, named after it. */
  const setFor = ({ ipPool }: Mail): string | undefined =>
    ipPool === null ? configurationSet : poolSet(configurationSet ?? 'tidings', ipPool)

  const handOver = async (mail: Mail): Promise<string> => {
    const client = await clientFor(isRegion(mail.region) ? mail.region : needs.region)
    const { SendEmailCommand } = await loadSdk()
    const [to, cc, bcc] = [addresses(mail.to), addresses(mail.cc), addresses(mail.bcc)]
    const set = setFor(mail)
    const { MessageId } = await client.send(
      new SendEmailCommand({
        Content: { Raw: { Data: await composeMime(mail, { [orgHeader]: mail.orgId }) } },
        Destination: { ToAddresses: to, CcAddresses: cc, BccAddresses: bcc },
        EmailTags: [
          { Name: sesTags.org, Value: tagValue(mail.orgId) },
          { Name: sesTags.message, Value: tagValue(mail.messageId) },
        ],
        ...(set !== undefined && { ConfigurationSetName: set }),
      }),
    )
    if (!MessageId) throw new HandoverError('uncertain', name, wordsFor.uncertain as string)
    return MessageId
  }

  return {
    name,
    send: async (mail) => {
      if (mailEnvelopeOf(mail).needsUtf8) {
        throw new HandoverError('refused', name, 'Amazon SES does not take addresses beyond ASCII.')
      }
      try {
        return { provider: name, providerMessageId: await handOver(mail) }
      } catch (error) {
        throw error instanceof HandoverError ? error : faultOf(error)
      }
    },
    close: async () => {
      for (const client of clients.values()) client.destroy()
      await handler.close()
    },
  }
}
