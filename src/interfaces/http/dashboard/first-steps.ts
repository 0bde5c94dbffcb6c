/** /api/internal/first-steps: how far an org is with its setup. What was done once stays done. */

import { z } from 'zod'
import type { ReadSetup } from '../../../reports/overview/read-setup.ts'
import { firstSteps } from '../../../reports/overview/store.ts'
import { sandboxDomain } from '../../../senders/domains/sandbox-domain.ts'
import { ok } from '../responses.ts'
import { bySession, type DashboardRoute, defineRoute } from '../route.ts'

const FirstSteps = z.strictObject({
  /** In the order in which a new org does them. */
  done: z.array(z.enum(firstSteps)),
  /** A domain that the first message can be sent from. */
  sender: z.string(),
  /** Whether the sender is the sandbox, which every org has. */
  sandbox: z.boolean(),
  /** Whether domains were added and none is verified. */
  domain_waits: z.boolean(),
})

type Needs = { setup: ReadSetup; serviceDomain: string }

export const firstStepRoutes = ({ setup, serviceDomain }: Needs): DashboardRoute[] => [
  defineRoute('GET', '/api/internal/first-steps', bySession('requireSession'), {
    responses: { 200: FirstSteps },
    handle: async ({ session }) => {
      const row = await setup.firstSteps(session.orgId)
      return ok({
        done: firstSteps.filter((step) => row[step]),
        sender: row.domain ?? sandboxDomain(row.slug, serviceDomain),
        sandbox: row.domain === null,
        domain_waits: row.domain_waits,
      })
    },
  }),
]
