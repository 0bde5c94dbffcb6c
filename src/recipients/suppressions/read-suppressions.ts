/** Reads suppressions for programs: by filters, and one by its id. */
import type { Db } from '../../platform/db/pool.ts'
import { keysetOf, type PageAsked } from '../../platform/ground/cursor.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { comparableAddress } from '../../platform/ground/mailbox.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { findSuppression, listSuppressions, listTenantSuppressions, type SuppressionRow } from './store.ts'

type Of = Pick<Scope, 'orgId' | 'tenantId'>

export type SuppressionFilters = {
  channel?: SuppressionRow['channel'] | undefined
  reason?: SuppressionRow['reason'] | undefined
  /** The whole address or number. */
  value?: string | undefined
}

export interface ReadSuppressions {
  list(of: Of, filters: SuppressionFilters, page: PageAsked): Promise<SuppressionRow[]>
  get(of: Of, id: string): Promise<SuppressionRow>
}

/** The value of a filter, normalized like stored values. */
const normalized = (value: string): string => comparableAddress(value) ?? value.toLowerCase()

export const makeReadSuppressions = ({ db }: { db: Db }): ReadSuppressions => ({
  list: ({ orgId, tenantId }, { channel = null, reason = null, value }, page) => {
    const given = { orgId, channel, reason, value: value === undefined ? null : normalized(value), ...keysetOf(page) }
    return tenantId === null
      ? db.rows(listSuppressions, given)
      : db.rows(listTenantSuppressions, { ...given, tenantId })
  },

  get: async ({ orgId, tenantId }, id) => {
    const row = await db.row(findSuppression, { orgId, tenantId, id })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
})
