/** Sends text and media messages through AWS End User Messaging. */
import type {
  PinpointSMSVoiceV2Client,
  PinpointSMSVoiceV2ClientConfig,
  SendTextMessageCommandInput,
} from '@aws-sdk/client-pinpoint-sms-voice-v2'
import { makeAwsFault, type SdkError, unconfirmedBy } from '../aws-faults.ts'
import { type HttpTimeouts, makeSdkHandler } from '../email/ses-http.ts'
import { HandoverError, type HandoverFault } from '../handover.ts'
import type { Sms, SmsProvider } from './sms-provider.ts'

export const awsName = 'aws'
const title = 'AWS End User Messaging'

/** Links an event to its message. The service returns the context of a message with each of its events. */
export const smsContext = { org: 'tidings-org', message: 'tidings-message' } as const

type Needs = {
  region: string
  configurationSet: string | undefined
  /** Replaces the endpoint of the region. */
  endpoint: string | undefined
  /** Defaults to the SDK's credential provider chain. */
  credentials?: PinpointSMSVoiceV2ClientConfig['credentials']
  timeouts?: HttpTimeouts
}

const defaultTimeouts: HttpTimeouts = { connectMs: 5_000, responseMs: 20_000 }

/** The service responds with 400 to almost everything, so the name decides. */
const kinds: Record<string, HandoverFault> = {
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
  title,
  kindOf: (error: SdkError & { ResourceType?: string }) =>
    operatorResources.has(error.ResourceType ?? '') ? 'unavailable' : kinds[error.name],
})

/** The ids go to the carrier together or not at all. */
const countryParametersOf = ({ dlt }: Sms): Pick<SendTextMessageCommandInput, 'DestinationCountryParameters'> =>
  dlt && dlt.entityId !== '' && dlt.templateId !== ''
    ? { DestinationCountryParameters: { IN_ENTITY_ID: dlt.entityId, IN_TEMPLATE_ID: dlt.templateId } }
    : {}

export const makeAwsSmsProvider = (needs: Needs): SmsProvider => {
  const { region, configurationSet, endpoint, credentials, timeouts = defaultTimeouts } = needs
  const handler = makeSdkHandler(timeouts)
  let client: PinpointSMSVoiceV2Client | undefined

  // Loaded with the first message, because the SDK is large and most processes never use it.
  const loadSdk = () => import('@aws-sdk/client-pinpoint-sms-voice-v2')

  const openClient = async (): Promise<PinpointSMSVoiceV2Client> => {
    const { PinpointSMSVoiceV2Client } = await loadSdk()
    client ??= new PinpointSMSVoiceV2Client({
      region,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials }),
      // No retries here: the failover chain and the scheduler decide which attempts may be repeated.
      maxAttempts: 1,
      requestHandler: handler as NonNullable<PinpointSMSVoiceV2ClientConfig['requestHandler']>,
    })
    return client
  }

  const handOver = async (sms: Sms): Promise<string | undefined> => {
    const opened = await openClient()
    const { SendMediaMessageCommand, SendTextMessageCommand } = await loadSdk()
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
      return (await opened.send(new SendMediaMessageCommand({ ...common, ...body, MediaUrls: [...sms.mediaUrl] })))
        .MessageId
    }
    const command = new SendTextMessageCommand({
      ...common,
      MessageBody: sms.body,
      MessageType: sms.messageType === 'promotional' ? 'PROMOTIONAL' : 'TRANSACTIONAL',
      ...countryParametersOf(sms),
    })
    return (await opened.send(command)).MessageId
  }

  return {
    name: awsName,
    send: async (sms) => {
      try {
        const providerMessageId = await handOver(sms)
        if (!providerMessageId) throw new HandoverError('uncertain', awsName, unconfirmedBy(title))
        return { provider: awsName, providerMessageId }
      } catch (error) {
        throw faultOf(error)
      }
    },
    close: async () => {
      client?.destroy()
      await handler.close()
    },
  }
}
