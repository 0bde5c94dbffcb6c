/** How far an org is with its setup, and what needs attention. */
import type { Db } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { EndpointRow } from '../../webhooks/store/endpoint-rows.ts'
import { type PendingRegistrations, readCondition, readFirstSteps, type Setup } from './store.ts'

type OrgCondition = {
  setup: Setup
  pending: PendingRegistrations
  /** The worst are first. */
  unhealthy: EndpointRow[]
}

const maxUnhealthy = 20

export const makeReadSetup = ({ db }: { db: Db }) => ({
  condition: async (orgId: string): Promise<OrgCondition> => {
    const rows = await db.rows(readCondition, { orgId, maxUnhealthy })
    const [first] = rows
    if (!first) throw new Failure('NOT_FOUND')
    return { setup: first, pending: first.pending, unhealthy: rows.filter((row) => row.id !== null) }
  },

  /** What was done once stays done. */
  firstSteps: (orgId: string) => orNotFound(db.row(readFirstSteps, { orgId })),
})

export type ReadSetup = ReturnType<typeof makeReadSetup>
