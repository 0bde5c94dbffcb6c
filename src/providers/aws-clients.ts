/** Clients of the AWS SDK. They share one HTTP handler, whose errors report whether a request was sent. */
import type { PinpointSMSVoiceV2 } from '@aws-sdk/client-pinpoint-sms-voice-v2'
import type { SESv2, SESv2ClientConfig } from '@aws-sdk/client-sesv2'
import { type HttpTimeouts, makeSdkHandler } from './email/ses-http.ts'

export type AwsConnection = {
  /** Replaces the endpoint of the region. Undefined: the SDK reads its own variables, such as AWS_ENDPOINT_URL_SESV2. */
  endpoint: string | undefined
  /** Defaults to the SDK's credential provider chain. */
  credentials?: SESv2ClientConfig['credentials']
  timeouts?: HttpTimeouts
}

type ClientConfig = Pick<SESv2ClientConfig, 'region' | 'endpoint' | 'credentials' | 'maxAttempts' | 'requestHandler'>

const defaultTimeouts: HttpTimeouts = { connectMs: 5_000, responseMs: 20_000 }

/** One client for each region. `load` imports the SDK with the first use: it is large, and most processes never use it. */
const makeClients = <Client extends { destroy(): void }>(
  load: () => Promise<new (config: ClientConfig) => Client>,
  { endpoint, credentials, timeouts = defaultTimeouts }: AwsConnection,
  maxAttempts: number,
) => {
  const handler = makeSdkHandler(timeouts)
  const clients = new Map<string, Client>()
  return {
    clientFor: async (region: string): Promise<Client> => {
      const ClientOfService = await load()
      const known = clients.get(region)
      if (known) return known
      const client = new ClientOfService({
        region,
        ...(endpoint !== undefined && { endpoint }),
        ...(credentials !== undefined && { credentials }),
        maxAttempts,
        requestHandler: handler as NonNullable<SESv2ClientConfig['requestHandler']>,
      })
      clients.set(region, client)
      return client
    },
    close: async (): Promise<void> => {
      for (const client of clients.values()) client.destroy()
      await handler.close()
    },
  }
}

/** `maxAttempts` is how often a call is tried. */
export const makeSesClients = (connection: AwsConnection, maxAttempts: number) =>
  makeClients<SESv2>(async () => (await import('@aws-sdk/client-sesv2')).SESv2, connection, maxAttempts)

export const awsMessaging = 'AWS End User Messaging'

export type AwsMessagingNeeds = AwsConnection & { region: string }

/** Calls of AWS End User Messaging, for sending and for registering senders. They throw only what `faultOf` returns. */
export const makeAwsCalls = (
  { region, ...connection }: AwsMessagingNeeds,
  maxAttempts: number,
  faultOf: (error: unknown) => Error,
) => {
  const load = async () => (await import('@aws-sdk/client-pinpoint-sms-voice-v2')).PinpointSMSVoiceV2
  const { clientFor, close } = makeClients<PinpointSMSVoiceV2>(load, connection, maxAttempts)
  return {
    call: async <T>(work: (client: PinpointSMSVoiceV2) => Promise<T>): Promise<T> => {
      try {
        return await work(await clientFor(region))
      } catch (error) {
        throw faultOf(error)
      }
    },
    close,
  }
}

export type AwsCalls = ReturnType<typeof makeAwsCalls>
