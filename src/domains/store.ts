import { statement } from '../db/statement.ts'

/** A domain whose proof is known from the start, as the first run's own one under `.test`. */
export const insertVerifiedDomain = statement<
  [orgId: string, id: string, projectId: string, name: string, region: string, at: Date]
>(
  'domains.insert_verified',
  `insert into domains (org_id, id, project_id, name, status, dkim_status, region, created_environment,
     created_at, updated_at, verified_at)
   values ($1, $2, $3, $4, 'verified', 'SUCCESS', $5, 'live', $6, $6, $6)`,
)

export type SenderDomain = { id: string; project_id: string; tenant_id: string | null; status: string }

/** Every row of that name in the org: one name may stand in several projects, each with its own proof. */
export const findSenderDomains = statement<[orgId: string, name: string], SenderDomain>(
  'domains.find_senders',
  'select id, project_id, tenant_id, status from domains where org_id = $1 and name = lower($2)',
)
