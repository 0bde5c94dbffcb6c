/** The client of AWS End User Messaging, for sending and for registering senders. */
import type { PinpointSMSVoiceV2Client, PinpointSMSVoiceV2ClientConfig } from '@aws-sdk/client-pinpoint-sms-voice-v2'
import { type HttpTimeouts, makeSdkHandler } from './email/ses-http.ts'

export type AwsMessagingNeeds = {
  region: string
  /** Replaces the endpoint of the region. */
  endpoint: string | undefined
  /** Defaults to the SDK's credential provider chain. */
  credentials?: PinpointSMSVoiceV2ClientConfig['credentials']
  timeouts?: HttpTimeouts
}

const defaultTimeouts: HttpTimeouts = { connectMs: 5_000, responseMs: 20_000 }
export const awsMessaging = 'AWS End User Messaging'

type Sdk = typeof import('@aws-sdk/client-pinpoint-sms-voice-v2')

export interface AwsCalls {
  /** Throws only what `faultOf` makes of an error. */
  call<T>(work: (client: PinpointSMSVoiceV2Client, sdk: Sdk) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** `attempts` is how often a call is tried. */
export const makeAwsCalls = (
  { region, endpoint, credentials, timeouts = defaultTimeouts }: AwsMessagingNeeds,
  attempts: number,
  faultOf: (error: unknown) => Error,
): AwsCalls => {
  const handler = makeSdkHandler(timeouts)
  let client: PinpointSMSVoiceV2Client | undefined
  const openClient = ({ PinpointSMSVoiceV2Client }: Sdk): PinpointSMSVoiceV2Client =>
    new PinpointSMSVoiceV2Client({
      region,
      ...(endpoint !== undefined && { endpoint }),
      ...(credentials !== undefined && { credentials }),
      maxAttempts: attempts,
      requestHandler: handler as NonNullable<PinpointSMSVoiceV2ClientConfig['requestHandler']>,
    })
  return {
    call: async (work) => {
      try {
        // Loaded with the first call, because the SDK is large and most processes never use it.
        const sdk = await import('@aws-sdk/client-pinpoint-sms-voice-v2')
        client ??= openClient(sdk)
        return await work(client, sdk)
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
