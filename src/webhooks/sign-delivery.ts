/** The headers of one attempt. Those that tell a time or sign one are new on each. */
import { createHmac } from 'node:crypto'
import type { Environment } from '../ground/scope.ts'
import { bytesOf } from './webhook-secret.ts'

export type Signed = {
  id: string
  event: string
  environment: Environment | null
  tenantId: string | null
  payload: string
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text, 'utf8')

export const signedHeaders = (delivery: Signed, secret: string, at: number): Record<string, string> => {
  const { id, event, environment, tenantId, payload } = delivery
  const seconds = String(Math.floor(at / 1000))
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Tidings-Webhooks',
    'X-Service-Event': event,
    ...(environment !== null && { 'X-Service-Environment': environment }),
    ...(tenantId !== null && { 'X-Service-Tenant-Id': tenantId }),
    'X-Service-Delivery-Id': id,
    'X-Service-Signature': hmac(secret, payload).digest('hex'),
    'X-Service-Timestamp': seconds,
    'X-Service-Signature-V2': hmac(secret, `${seconds}.${payload}`).digest('hex'),
    // The same again as Standard Webhooks has it, for its libraries.
    'Webhook-Id': id,
    'Webhook-Timestamp': seconds,
    'Webhook-Signature': `v1,${hmac(bytesOf(secret), `${id}.${seconds}.${payload}`).digest('base64')}`,
  }
}
