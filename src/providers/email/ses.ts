/** Sends mail through Amazon SES, in the region of its sending domain. */
import { createHash } from 'node:crypto'
import { type AwsConnection, makeSesClients } from '../aws-clients.ts'
import { makeAwsFault, unconfirmedBy } from '../aws-faults.ts'
import { HandoverFault } from '../handover.ts'
import { composeMime, mailEnvelopeOf, wireAddress } from './compose-mime.ts'
import type { Address, EmailProvider, Mail } from './email-provider.ts'

const name = 'ses'
const title = 'Amazon SES'

/** Tags that link an SES event to its message. */
export const sesTags = { org: 'tidings-org', message: 'tidings-message' } as const
/** Links a feedback notification to its org, because those notifications contain headers but no tags. */
export const orgHeader = 'X-Service-Org-Id'

type Needs = AwsConnection & {
  /** Used for mail whose domain has no region. */
  region: string
  configurationSet: string | undefined
}

/** Checked because the region becomes part of a host name. */
const isAwsRegion = (text: string): boolean => /^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/.test(text)

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

const faultOf = makeAwsFault({
  provider: name,
  title,
  kindOf: ({ name, message }) => {
    if (throttlingErrors.has(name) || /^454\b/.test(message)) return 'throttled'
    return refusalErrors.has(name) ? 'refused' : undefined
  },
})

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
    const set = configurationSetFor(mail)
    const { MessageId } = await client.sendEmail({
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
    })
    if (!MessageId) throw new HandoverFault('uncertain', name, unconfirmedBy(title))
    return MessageId
  }

  return {
    name,
    send: async (mail) => {
      if (mailEnvelopeOf(mail).needsUtf8) {
        throw new HandoverFault(
          'refused',
          name,
          'Amazon SES does not accept addresses with a local part that is not ASCII.',
        )
      }
      try {
        return { provider: name, providerMessageId: await handOver(mail) }
      } catch (error) {
        throw faultOf(error)
      }
    },
    close: clients.close,
  }
}
