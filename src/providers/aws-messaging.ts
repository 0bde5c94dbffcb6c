/** Calls AWS End User Messaging and says what its errors mean. */
import type { PinpointSMSVoiceV2Client, PinpointSMSVoiceV2ClientConfig } from '@aws-sdk/client-pinpoint-sms-voice-v2'
import { type HttpTimeouts, makeSdkHandler } from '../email/ses-http.ts'
import { RegistryError } from './sms-registry.ts'

export type AwsCallsNeeds = {
  region: string
  /** Replaces the endpoint of the region. */
  endpoint: string | undefined
  /** Defaults to the SDK's credential provider chain. */
  credentials?: PinpointSMSVoiceV2ClientConfig['credentials']
  timeouts?: HttpTimeouts
  /** How often a call is tried. Every call can be repeated: what creates something carries a token of its row. */
  attempts?: number
}

const defaultTimeouts: HttpTimeouts = { connectMs: 5_000, responseMs: 20_000 }
const title = 'AWS End User Messaging'

const refusals: ReadonlySet<string> = new Set([
  'ValidationException',
  'ConflictException',
  'ResourceNotFoundException',
  'ServiceQuotaExceededException',
])

/** Callers must not see errors of the account or its credentials. */
const faultOf = (error: unknown): RegistryError => {
  const { name, message } = error as Error
  if (refusals.has(name)) return new RegistryError('refused', `${title}: ${message}`, { cause: error })
  return new RegistryError('unavailable', `${title} could not be reached or did not accept the request.`, {
    cause: error,
  })
}

export const isNotFound = (error: unknown): boolean =>
  error instanceof RegistryError && (error.cause as Error | undefined)?.name === 'ResourceNotFoundException'

export const isRefused = (error: unknown): boolean => error instanceof RegistryError && error.kind === 'refused'

type Sdk = typeof import('@aws-sdk/client-pinpoint-sms-voice-v2')

export interface AwsCalls {
  /** Throws only RegistryError. */
  call<T>(work: (client: PinpointSMSVoiceV2Client, sdk: Sdk) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export const makeAwsCalls = (needs: AwsCallsNeeds): AwsCalls => {
  const { region, endpoint, credentials, timeouts = defaultTimeouts, attempts = 3 } = needs
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
