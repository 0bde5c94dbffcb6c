import { z } from 'zod'
import { scopes } from '../../customers/keys/scopes.ts'

export const ConsentRequest = z.strictObject({
  request_id: z.string(),
  client: z.strictObject({ id: z.string(), name: z.string(), redirect_host: z.string() }),
  scopes: z.array(z.strictObject({ name: z.string(), description: z.string(), grantable: z.boolean() })),
  orgs: z.array(z.strictObject({ id: z.string(), name: z.string(), role: z.string() })),
})

const requestId = z.string().min(1).max(100)

export const ByRequest = z.object({ id: requestId })

export const ConsentBody = z.discriminatedUnion('decision', [
  z.object({
    decision: z.literal('allow'),
    request_id: requestId,
    org_id: z.string().min(1).max(100),
    scopes: z.array(z.enum(scopes)).max(100).min(1),
  }),
  z.object({ decision: z.literal('deny'), request_id: requestId }),
])
export type ConsentBody = z.output<typeof ConsentBody>

export const Consented = z.strictObject({ redirect_to: z.string() })

export const OAuthGrant = z.strictObject({
  id: z.string(),
  client_name: z.string(),
  user_id: z.string(),
  org_id: z.string(),
  scopes: z.array(z.string()),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
})

export const ByGrant = z.object({ id: z.string().min(1).max(100) })
export const EndedGrant = z.strictObject({ deleted: z.literal(true), id: z.string() })
