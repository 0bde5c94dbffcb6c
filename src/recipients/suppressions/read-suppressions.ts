/** Reads suppressions for programs: by filters, and one by its id. */
import type { Db } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { comparableAddress } from '../../platform/ground/mailbox.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { findSuppression, listSuppressions, listTenantSuppressions, type SuppressionRow } from './store.ts'

type Of = Pick<Scope, 'orgId' | 'tenantId'>

type SuppressionFilters = {
  channel?: SuppressionRow['channel'] | undefined
  reason?: SuppressionRow['reason'] | undefined
  /** The whole address or number. */
  value?: string | undefined
}

/** The value of a filter, normalized like stored values. */
const normalized = (value: string): string => comparableAddress(value) ?? value.toLowerCase()

export const makeReadSuppressions = ({ db }: { db: Db }) => ({
  list: ({ orgId, tenantId }: Of, filters: SuppressionFilters, page: PageAsked) => {
    const { channel = null, reason = null, value } = filters
    const given = { orgId, channel, reason, value: value === undefined ? null : normalized(value), ...keysetOf(page) }
    return tenantId === null
      ? db.rows(listSuppressions, given)
      : db.rows(listTenantSuppressions, { ...given, tenantId })
  },

  get: ({ orgId, tenantId }: Of, id: string) => orNotFound(db.row(findSuppression, { orgId, tenantId, id })),
})

export type ReadSuppressions = ReturnType<typeof makeReadSuppressions>
