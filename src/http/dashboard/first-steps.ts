/** /api/internal/first-steps: how far an org is with its setup. What was done once stays done. */
import { z } from 'zod'
import type { Db } from '../../db/pool.ts'
import { sandboxDomain } from '../../domains/sandbox-domain.ts'
import { Failure } from '../../ground/errors.ts'
import { firstSteps, readFirstSteps } from '../../overview/store.ts'
import { type DashboardRoute, defineDashboardRoute } from './dashboard-route.ts'

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

type Needs = { db: Db; serviceDomain: string }

export const firstStepRoutes = ({ db, serviceDomain }: Needs): DashboardRoute[] => [
  defineDashboardRoute({
    method: 'GET',
    path: '/api/internal/first-steps',
    gate: 'requireSession',
    responses: { 200: FirstSteps },
    handle: async ({ session }) => {
      const row = await db.row(readFirstSteps, { orgId: session.orgId })
      if (!row) throw new Failure('NOT_FOUND')
      return {
        status: 200,
        body: {
          done: firstSteps.filter((step) => row[step]),
          sender: row.domain ?? sandboxDomain(row.slug, serviceDomain),
          sandbox: row.domain === null,
          domain_waits: row.domain_waits,
        },
      }
    },
  }),
]
