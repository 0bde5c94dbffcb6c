/** Reads what an org registered: its brands, campaigns, numbers and sender ids. */
import type { Db } from '../../../platform/db/pool.ts'
import type { Statement } from '../../../platform/db/statement.ts'
import { keysetOf, type PageAsked } from '../../../platform/ground/cursor.ts'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Environment, Scope } from '../../../platform/ground/scope.ts'
import { type BrandRow, brandStatements } from '../store/brand-rows.ts'
import { type CampaignRow, campaignStatements } from '../store/campaign-rows.ts'
import {
  listOrgNumbers,
  listPhoneNumbers,
  type PhoneNumberRow,
  phoneNumberStatements,
} from '../store/phone-number-rows.ts'
import type { ListRows } from '../store/registration-rows.ts'

export interface ReadRegistrations<Row> {
  list(of: { orgId: string; environment: Environment | null }, page: PageAsked): Promise<Row[]>
  get(orgId: string, id: string): Promise<Row>
}

export interface ReadNumbers {
  /** What a tenant can use: its own and those of no tenant. Without a tenant, those of the whole org. */
  list(of: Pick<Scope, 'orgId' | 'tenantId'>, page: PageAsked): Promise<PhoneNumberRow[]>
  /** What belongs to the tenant itself. Without a tenant, to the whole org. */
  listOwn(
    of: { orgId: string; tenantId: string | null; environment: Environment | null },
    page: PageAsked,
  ): Promise<PhoneNumberRow[]>
  get(of: Pick<Scope, 'orgId' | 'tenantId'>, id: string): Promise<PhoneNumberRow>
}

type Statements<Row> = {
  list: Statement<ListRows, Row>
  find: Statement<{ orgId: string; id: string }, Row>
}

const makeRead = <Row>(db: Db, statements: Statements<Row>): ReadRegistrations<Row> => ({
  list: (of, page) => db.rows(statements.list, { ...of, ...keysetOf(page) }),
  get: async (orgId, id) => {
    const row = await db.row(statements.find, { orgId, id })
    if (!row) throw new Failure('NOT_FOUND')
    return row
  },
})

export const makeReadBrands = ({ db }: { db: Db }): ReadRegistrations<BrandRow> => makeRead(db, brandStatements)

export const makeReadCampaigns = ({ db }: { db: Db }): ReadRegistrations<CampaignRow> =>
  makeRead(db, campaignStatements)

export const makeReadNumbers = ({ db }: { db: Db }): ReadNumbers => ({
  list: ({ orgId, tenantId }, page) => db.rows(listPhoneNumbers, { orgId, tenantId, ...keysetOf(page) }),
  listOwn: (of, page) => db.rows(listOrgNumbers, { ...of, ...keysetOf(page) }),
  get: async ({ orgId, tenantId }, id) => {
    const row = await db.row(phoneNumberStatements.find, { orgId, id })
    const isVisible = row && (tenantId === null || row.tenant_id === null || row.tenant_id === tenantId)
    if (!isVisible) throw new Failure('NOT_FOUND')
    return row
  },
})
