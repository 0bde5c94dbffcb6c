import type { Db } from '../db/pool.ts'
import { Failure } from '../ground/errors.ts'
import type { Caller } from '../keys/caller.ts'
import { findSenderDomains, type SenderDomain } from './store.ts'

/**
 * The rows of a `from` domain that the key's own restrictions leave open: its allowed domains and its project.
 * An unrestricted key is held back by neither, and an unknown name is the business of the gates that follow.
 */
export type AllowedSenderDomains = (caller: Caller, domainName: string) => Promise<SenderDomain[]>

export const makeAllowedSenderDomains =
  ({ db }: { db: Db }): AllowedSenderDomains =>
  async (caller, domainName) => {
    const rows = await db.rows(findSenderDomains, caller.orgId, domainName)
    const open = rows.filter(
      (row) =>
        (caller.allowedDomainIds === null || caller.allowedDomainIds.includes(row.id)) &&
        (caller.projectId === null || caller.projectId === row.project_id),
    )
    const restricted = caller.allowedDomainIds !== null || caller.projectId !== null
    if (restricted && open.length === 0) throw new Failure('DOMAIN_NOT_ALLOWED_FOR_KEY')
    return open
  }
