/** Sends mail through Amazon SES, in the region of its sending domain. */
import { createHash } from 'node:crypto'
import { composeMime, mailEnvelopeOf, wireAddress } from './compose-mime.ts'
import { type Address, type EmailProvider, HandoverError, type HandoverFault, type Mail } from './email-provider.ts'
import { isAwsRegion, loadSesSdk, makeSesClients, type SesConnection } from './ses-client.ts'
import { LostRequest } from './ses-http.ts'

const name = 'ses'

/** Tags that link an SES event to its message. */
export const sesTags = { org: 'tidings-org', message: 'tidings-message' } as const
/** Links a feedback notification to its org, because those notifications contain headers but no tags. */
export const orgHeader = 'X-Service-Org-Id'

type Needs = SesConnection & {
  /** Used for mail whose domain has no region. */
  region: string
  configurationSet: string | undefined
}

/** Replaces characters that SES does not allow in tags. Ids do not contain any today. */
const tagValue = (text: string): string => text.replace(/[^A-Za-z0-9_.@-]/g, '_').slice(0, 256)

/**
 * The configuration set of an IP pool. Pool names are free text, but SES restricts the names of configuration sets.
 * A name with characters that SES rejects, or that is too long, is rewritten and gets a digest, so that two pools do
 * not end up with the same set.
 */
const poolConfigurationSet = (set: string, pool: string): string => {
  const name = `${set}-${pool}`
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  const digest = createHash('sha256').update(pool).digest('hex').slice(0, 8)
  return `${name.replace(/[^A-Za-z0-9_-]/gu, '_').slice(0, 55)}-${digest}`
}

const throttlingErrors = new Set([
  'TooManyRequestsException',
  'ThrottlingException',
  'Throttling',
  'LimitExceededException',
])
const refusalErrors = new Set([
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
  if (throttlingErrors.has(error.name) || status === 429 || /^454\b/.test(error.message)) return 'throttled'
  if (refusalErrors.has(error.name)) return 'refused'
  // No request was sent: the credentials or the region could not be resolved.
  if (status === undefined) return 'unavailable'
  // SES accepted the request, but its response cannot be parsed.
  if (status < 300) return 'uncertain'
  // Credentials, permissions or a missing configuration set: the operator must fix it, and another provider may work.
  if (status >= 500 || status === 401 || status === 403 || status === 404) return 'unavailable'
  return 'refused'
}

const messageFor: Partial<Record<HandoverFault, string>> = {
  unavailable: 'Amazon SES could not be reached or did not accept the request.',
  uncertain: 'Amazon SES did not confirm the message. It may have been sent.',
}

const faultOf = (error: unknown): HandoverError => {
  const kind = kindOf(error as SdkError)
  // Senders must not see errors of the account or its credentials.
  return new HandoverError(kind, name, messageFor[kind] ?? (error as Error).message, { cause: error })
}

const wireAddresses = (list: Address[]): string[] => list.map(({ address }) => wireAddress(address))

export const makeSesProvider = (needs: Needs): EmailProvider => {
  const { configurationSet } = needs
  // No retries here: the failover chain and the scheduler decide which attempts may be repeated.
  const clients = makeSesClients(needs, 1)

  /** SES selects a dedicated IP pool through a configuration set, which is named after the pool. */
  const configurationSetFor = ({ ipPool }: Mail): string | undefined =>
    ipPool === null ? configurationSet : poolConfigurationSet(configurationSet ?? 'tidings', ipPool)

  const handOver = async (mail: Mail): Promise<string> => {
    const client = await clients.clientFor(isAwsRegion(mail.region) ? mail.region : needs.region)
    const { SendEmailCommand } = await loadSesSdk()
    const set = configurationSetFor(mail)
    const { MessageId } = await client.send(
      new SendEmailCommand({
        Content: { Raw: { Data: await composeMime(mail, { [orgHeader]: mail.orgId }) } },
        Destination: {
          ToAddresses: wireAddresses(mail.to),
          CcAddresses: wireAddresses(mail.cc),
          BccAddresses: wireAddresses(mail.bcc),
        },
        EmailTags: [
          { Name: sesTags.org, Value: tagValue(mail.orgId) },
          { Name: sesTags.message, Value: tagValue(mail.messageId) },
        ],
        ...(set !== undefined && { ConfigurationSetName: set }),
      }),
    )
    if (!MessageId) throw new HandoverError('uncertain', name, messageFor.uncertain as string)
    return MessageId
  }

  return {
    name,
    send: async (mail) => {
      if (mailEnvelopeOf(mail).needsUtf8) {
        throw new HandoverError(
          'refused',
          name,
          'Amazon SES does not accept addresses with a local part that is not ASCII.',
        )
      }
      try {
        return { provider: name, providerMessageId: await handOver(mail) }
      } catch (error) {
        throw error instanceof HandoverError ? error : faultOf(error)
      }
    },
    close: clients.close,
  }
}
