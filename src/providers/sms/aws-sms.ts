/** Sends text and media messages through AWS End User Messaging. */
import type { SendTextMessageCommandInput } from '@aws-sdk/client-pinpoint-sms-voice-v2'
import { type AwsMessagingNeeds, awsMessaging, makeAwsCalls } from '../aws-clients.ts'
import { makeAwsFault, type SdkError, unconfirmedBy } from '../aws-faults.ts'
import { HandoverFault, type HandoverFaultKind } from '../handover.ts'
import type { Sms, SmsProvider } from './sms-provider.ts'

const awsName = 'aws'

/** Links an event to its message. The service returns the context of a message with each of its events. */
export const smsContext = { org: 'tidings-org', message: 'tidings-message' } as const

type Needs = AwsMessagingNeeds & { configurationSet: string | undefined }

/** The service responds with 400 to almost everything, so the name decides. */
const kinds: Record<string, HandoverFaultKind> = {
  ThrottlingException: 'throttled',
  // The message itself cannot be sent: opted out, wrong capabilities, invalid parameters.
  ConflictException: 'refused',
  ValidationException: 'refused',
  ResourceNotFoundException: 'refused',
  // The account or its credentials. The operator must act, and another provider may work.
  ServiceQuotaExceededException: 'unavailable',
  AccessDeniedException: 'unavailable',
  UnrecognizedClientException: 'unavailable',
  InvalidSignatureException: 'unavailable',
  IncompleteSignatureException: 'unavailable',
  ExpiredTokenException: 'unavailable',
  MissingAuthenticationTokenException: 'unavailable',
  OptInRequired: 'unavailable',
}

/** Other resources are the sender of the message. These are configured by the operator. */
const operatorResources = new Set(['configuration-set', 'account'])

const faultOf = makeAwsFault({
  provider: awsName,
  title: awsMessaging,
  kindOf: (error: SdkError & { ResourceType?: string }) =>
    operatorResources.has(error.ResourceType ?? '') ? 'unavailable' : kinds[error.name],
})

/** The ids go to the carrier together or not at all. */
const countryParametersOf = ({ dlt }: Sms): Pick<SendTextMessageCommandInput, 'DestinationCountryParameters'> =>
  dlt && dlt.entityId !== '' && dlt.templateId !== ''
    ? { DestinationCountryParameters: { IN_ENTITY_ID: dlt.entityId, IN_TEMPLATE_ID: dlt.templateId } }
    : {}

export const makeAwsSmsProvider = (needs: Needs): SmsProvider => {
  const { configurationSet } = needs
  // No retries here: the failover chain and the scheduler decide which attempts may be repeated.
  const { call, close } = makeAwsCalls(needs, 1, faultOf)

  const handOver = async (sms: Sms): Promise<string | undefined> => {
    const common = {
      DestinationPhoneNumber: sms.to,
      // A number is sent from itself. Anything else is a sender id.
      OriginationIdentity: sms.from,
      Context: { [smsContext.org]: sms.orgId, [smsContext.message]: sms.messageId },
      ...(configurationSet !== undefined && { ConfigurationSetName: configurationSet }),
    }
    if (sms.mediaUrl.length > 0) {
      // The registration of the number classifies a media message. There is no message type.
      const body = sms.body === '' ? {} : { MessageBody: sms.body }
      const media = { ...common, ...body, MediaUrls: [...sms.mediaUrl] }
      return (await call((client) => client.sendMediaMessage(media))).MessageId
    }
    const text: SendTextMessageCommandInput = {
      ...common,
      MessageBody: sms.body,
      MessageType: sms.messageType === 'promotional' ? 'PROMOTIONAL' : 'TRANSACTIONAL',
      ...countryParametersOf(sms),
    }
    return (await call((client) => client.sendTextMessage(text))).MessageId
  }

  return {
    name: awsName,
    send: async (sms) => {
      const providerMessageId = await handOver(sms)
      if (!providerMessageId) throw new HandoverFault('uncertain', awsName, unconfirmedBy(awsMessaging))
      return { provider: awsName, providerMessageId }
    },
    close,
  }
}
