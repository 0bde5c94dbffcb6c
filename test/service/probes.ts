/** Small routes on the real server, for rules whose routes do not exist yet. */
import { z } from 'zod'
import type { Modules } from '../../src/app/wiring/routes.ts'
import { type ScopeName, scopes } from '../../src/customers/keys/scopes.ts'
import { byKey, defineRoute, type PublicRoute } from '../../src/interfaces/http/route.ts'

const Seen = z.object({
  org_id: z.string(),
  tenant_id: z.string().nullable(),
  environment: z.enum(['live', 'test']),
  address: z.string().nullable(),
})

/** One GET per scope at `/probe/<scope>`. The response describes the caller that the handler received. */
export const scopeProbes = (): PublicRoute[] =>
  scopes.map((scope: ScopeName) =>
    defineRoute('GET', `/probe/${scope.replace(':', '-')}`, byKey(scope), {
      tag: 'Probe',
      summary: `Needs ${scope}`,
      responses: { 200: { schema: Seen, description: 'The caller of the request.' } },
      handle: async ({ caller, address }) => ({
        status: 200,
        body: {
          org_id: caller.orgId,
          tenant_id: caller.tenantId,
          environment: caller.environment,
          address,
        },
      }),
    }),
  )

/** A route that every gate can reject, in order. It calls `reached` whenever its handler runs. */
export const gatedProbe = (reached: () => void): PublicRoute =>
  defineRoute(
    'POST',
    '/probe/gated',
    byKey('send:email', {
      tenantKey: 'TENANT_KEY_FORBIDDEN',
      projectKey: 'PROJECT_SCOPED_KEY',
      testKey: 'ENVIRONMENT_ESCALATION',
    }),
    {
      tag: 'Probe',
      summary: 'Passes every gate',
      body: z.object({ n: z.number() }),
      bodyLimit: 1_024,
      idempotent: true,
      responses: { 200: { schema: z.object({ n: z.number() }), description: 'Reached.' } },
      handle: async ({ body }) => {
        reached()
        return { status: 200, body }
      },
    },
  )

/** Applies the `from` restriction of a key as every send does. */
export const senderProbe = ({ senders }: Modules): PublicRoute =>
  defineRoute('POST', '/probe/sender', byKey('send:email'), {
    tag: 'Probe',
    summary: 'Sends from a domain',
    body: z.object({ from_domain: z.string() }),
    responses: { 200: { schema: z.object({ from_domain: z.string() }), description: 'May send.' } },
    errors: ['DOMAIN_NOT_ALLOWED_FOR_KEY'],
    handle: async ({ caller, body }) => {
      await senders.assertTestAllowed(caller, body.from_domain)
      return { status: 200, body }
    },
  })
