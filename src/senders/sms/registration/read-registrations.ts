/** Reads what an org registered: its brands, campaigns, numbers and sender ids. */
import type { Db } from '../../../platform/db/pool.ts'
import type { Statement } from '../../../platform/db/statement.ts'
import { keysetOf, type PageAsked } from '../../../platform/ground/cursor.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import type { Environment, Scope } from '../../../platform/ground/scope.ts'
import { brandStatements } from '../store/brand-rows.ts'
import { campaignStatements } from '../store/campaign-rows.ts'
import { listOrgNumbers, listPhoneNumbers, phoneNumberStatements } from '../store/phone-number-rows.ts'
import type { ListRows } from '../store/registration-rows.ts'

type Of = Pick<Scope, 'orgId' | 'tenantId'>

type Statements<Row> = {
  list: Statement<ListRows, Row>
  find: Statement<{ orgId: string; id: string }, Row>
}

const makeRead = <Row>(db: Db, statements: Statements<Row>) => ({
  list: (of: { orgId: string; environment: Environment | null }, page: PageAsked) =>
    db.rows(statements.list, { ...of, ...keysetOf(page) }),
  get: (orgId: string, id: string) => orNotFound(db.row(statements.find, { orgId, id })),
})

export const makeReadBrands = ({ db }: { db: Db }) => makeRead(db, brandStatements)

export const makeReadCampaigns = ({ db }: { db: Db }) => makeRead(db, campaignStatements)

export const makeReadNumbers = ({ db }: { db: Db }) => ({
  /** What a tenant can use: its own and those of no tenant. Without a tenant, those of the whole org. */
  list: ({ orgId, tenantId }: Of, page: PageAsked) => db.rows(listPhoneNumbers, { orgId, tenantId, ...keysetOf(page) }),
  /** What belongs to the tenant itself. Without a tenant, to the whole org. */
  listOwn: (of: Of & { environment: Environment | null }, page: PageAsked) =>
    db.rows(listOrgNumbers, { ...of, ...keysetOf(page) }),
  get: async ({ orgId, tenantId }: Of, id: string) => {
    const row = await db.row(phoneNumberStatements.find, { orgId, id })
    const isVisible = row && (tenantId === null || row.tenant_id === null || row.tenant_id === tenantId)
    if (!isVisible) throw new Failure('NOT_FOUND')
    return row
  },
})

export type ReadRegistrations<Row> = ReturnType<typeof makeRead<Row>>
export type ReadNumbers = ReturnType<typeof makeReadNumbers>
