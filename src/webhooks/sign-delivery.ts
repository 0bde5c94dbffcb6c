/** The headers of one attempt. Timestamps and the signatures over them are new on each attempt. */
import { createHmac } from 'node:crypto'
import type { Environment } from '../platform/ground/scope.ts'
import { bytesOf, type SigningSecrets } from './webhook-secret.ts'

type NamedDelivery = {
  id: string
  event: string
  environment: Environment | null
  tenantId: string | null
}

export type SignedDelivery = NamedDelivery & {
  payload: string
  /** Not signed. The attempt continues this trace. */
  traceparent?: string | null
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text, 'utf8')

/** The headers that are the same on each attempt. */
export const fixedHeaders = ({ id, event, environment, tenantId }: NamedDelivery): Record<string, string> => ({
  'Content-Type': 'application/json',
  'User-Agent': 'Tidings-Webhooks',
  'X-Service-Event': event,
  ...(environment !== null && { 'X-Service-Environment': environment }),
  ...(tenantId !== null && { 'X-Service-Tenant-Id': tenantId }),
  'X-Service-Delivery-Id': id,
  'Webhook-Id': id,
})

/** The headers that depend on the secret or on the time of the attempt. They are not stored. */
export const signatureHeaders = [
  'X-Service-Signature',
  'X-Service-Timestamp',
  'X-Service-Signature-V2',
  'Webhook-Timestamp',
  'Webhook-Signature',
] as const

/** Our own headers hold one signature each, with the newest secret. That of Standard Webhooks has one per secret. */
export const signedHeaders = (
  delivery: SignedDelivery,
  secrets: SigningSecrets,
  at: number,
): Record<string, string> => {
  const [secret] = secrets
  const { id, payload } = delivery
  const seconds = String(Math.floor(at / 1000))
  const signatures: Record<(typeof signatureHeaders)[number], string> = {
    'X-Service-Signature': hmac(secret, payload).digest('hex'),
    'X-Service-Timestamp': seconds,
    'X-Service-Signature-V2': hmac(secret, `${seconds}.${payload}`).digest('hex'),
    // The same in the format of Standard Webhooks, so that its libraries can verify a delivery.
    'Webhook-Timestamp': seconds,
    'Webhook-Signature': secrets
      .map((each) => `v1,${hmac(bytesOf(each), `${id}.${seconds}.${payload}`).digest('base64')}`)
      .join(' '),
  }
  return { ...fixedHeaders(delivery), ...signatures }
}
