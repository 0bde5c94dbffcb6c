/** Routes that only reserve and release usage, as every send does. */
import { z } from 'zod'
import type { Modules } from '../../src/app/wiring/routes.ts'
import type { Reservation } from '../../src/customers/usage/reserve.ts'
import { byKey, defineRoute, type PublicRoute } from '../../src/interfaces/http/route.ts'
import type { Code } from '../../src/platform/ground/errors.ts'

const amount = z.int().min(0)

const Body = z.object({
  channel: z.enum(['email', 'sms']),
  units: amount,
  segments: amount.optional(),
  costMicros: amount.optional(),
  sandbox: amount.optional(),
  warmup: z.object({ domainId: z.string(), recipients: amount, cap: amount }).optional(),
})
export type ProbeSpend = z.input<typeof Body>

const caps: Code[] = [
  'SANDBOX_DAILY_LIMIT',
  'USAGE_LIMIT_EXCEEDED',
  'TENANT_QUOTA_EXCEEDED',
  'SPEND_CAP_EXCEEDED',
  'WARMUP_LIMIT_EXCEEDED',
  'TEST_DAILY_LIMIT',
]

/** `POST /probe/spend` responds with `{n}`; `POST /probe/release` with that `n` releases the reservation. */
export const usageProbes = ({ usage }: Modules): PublicRoute[] => {
  const reservations: Reservation[] = []
  const responses = { 200: { schema: z.object({ n: z.int() }), description: 'Done.' } }
  const base = { tag: 'Probe', responses }
  return [
    defineRoute('POST', '/probe/spend', byKey('send:email'), {
      ...base,
      summary: 'Reserves usage',
      body: Body,
      errors: caps,
      handle: async ({ caller, body }) => {
        const { segments, costMicros, sandbox, warmup } = body
        const reservation = await usage.reserve({
          orgId: caller.orgId,
          tenantId: caller.tenantId,
          environment: caller.environment,
          keyId: caller.keyId,
          channel: body.channel,
          units: body.units,
          ...(segments !== undefined && { segments }),
          ...(costMicros !== undefined && { costMicros }),
          ...(sandbox !== undefined && { sandbox }),
          ...(warmup !== undefined && { warmup }),
        })
        return { status: 200, body: { n: reservations.push(reservation) - 1 } }
      },
    }),
    defineRoute('POST', '/probe/release', byKey('send:email'), {
      ...base,
      summary: 'Releases a reservation',
      body: z.object({ n: z.int() }),
      handle: async ({ body }) => {
        await usage.release(reservations[body.n] as Reservation)
        return { status: 200, body: { n: body.n } }
      },
    }),
  ]
}
