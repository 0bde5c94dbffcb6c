/** How far an org is with its setup, and what needs attention. */
import type { Db } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import type { EndpointRow } from '../../webhooks/store/endpoint-rows.ts'
import { type FirstStepsRow, type PendingRegistrations, readCondition, readFirstSteps, type Setup } from './store.ts'

export type OrgCondition = {
  setup: Setup
  pending: PendingRegistrations
  /** The worst are first. */
  unhealthy: EndpointRow[]
}

export interface ReadSetup {
  condition(orgId: string): Promise<OrgCondition>
  /** What was done once stays done. */
  firstSteps(orgId: string): Promise<FirstStepsRow>
}

const maxUnhealthy = 20

export const makeReadSetup = ({ db }: { db: Db }): ReadSetup => ({
  condition: async (orgId) => {
    const rows = await db.rows(readCondition, { orgId, maxUnhealthy })
    const [first] = rows
    if (!first) throw new Failure('NOT_FOUND')
    return { setup: first, pending: first.pending, unhealthy: rows.filter((row) => row.id !== null) }
  },

  firstSteps: async (orgId) => {
    const row = await db.row(readFirstSteps, { orgId })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
})
