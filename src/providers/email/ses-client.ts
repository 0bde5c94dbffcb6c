/** Clients of the SES API, one for each region. */
import type { SESv2Client, SESv2ClientConfig } from '@aws-sdk/client-sesv2'
import { type HttpTimeouts, makeSdkHandler } from './ses-http.ts'

/** Loaded with the first use, because the SDK is large and most processes never use it. */
export const loadSesSdk = () => import('@aws-sdk/client-sesv2')

/** Checked because the region becomes part of a host name. */
export const isAwsRegion = (text: string): boolean => /^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/.test(text)

export type SesConnection = {
  /** Replaces the endpoint of the region. Undefined: the SDK reads its own variables, such as AWS_ENDPOINT_URL_SESV2. */
  endpoint: string | undefined
  /** Defaults to the SDK's credential provider chain. */
  credentials?: SESv2ClientConfig['credentials']
  timeouts?: HttpTimeouts
}

const defaultTimeouts: HttpTimeouts = { connectMs: 5_000, responseMs: 20_000 }

export const makeSesClients = (connection: SesConnection, maxAttempts: number) => {
  const { endpoint, credentials, timeouts = defaultTimeouts } = connection
  const handler = makeSdkHandler(timeouts)
  const clients = new Map<string, SESv2Client>()
  return {
    clientFor: async (region: string): Promise<SESv2Client> => {
      const { SESv2Client } = await loadSesSdk()
      const known = clients.get(region)
      if (known) return known
      const client = new SESv2Client({
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
