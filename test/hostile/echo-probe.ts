/**
 * A route that returns its whole body, like a route that stores metadata, so that no unusual value is stripped. It refuses
 * the kind `two` after the Idempotency-Key of the request was claimed.
 */
import { z } from 'zod'
import { byKey, defineRoute, type PublicRoute } from '../../src/interfaces/http/route.ts'
import { Failure } from '../../src/platform/ground/errors.ts'

export const echoProbe: PublicRoute = defineRoute('POST', '/probe/echo', byKey('send:email'), {
  tag: 'Probe',
  summary: 'Returns its body',
  idempotent: true,
  query: z.object({
    at: z.iso.datetime().optional(),
    n: z
      .string()
      .regex(/^\d{1,4}$/)
      .optional(),
  }),
  body: z.looseObject({
    kind: z.enum(['one', 'two']),
    at: z.iso.datetime().optional(),
    share: z.number().min(0).max(1).optional(),
    count: z.int().min(-5).max(5).nullable().optional(),
    list: z.array(z.string().min(1).max(40)).min(1).max(20).optional(),
    nested: z.object({ names: z.array(z.object({ name: z.string().min(2).max(8) })).max(3) }).optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
  responses: { 200: { schema: z.unknown(), description: 'The body of the request.' } },
  errors: ['SUPPRESSED'],
  handle: async ({ body }) => {
    if (body.kind === 'two') throw new Failure('SUPPRESSED')
    return { status: 200, body }
  },
})
