/** What follows a restore: an audit entry if the backup was not authenticated, and the check of every audit chain. */
import { orgIdsAfter } from '../../customers/orgs/store.ts'
import { makeAudit } from '../../journal/audit/append.ts'
import type { AuditNeeds } from '../../journal/audit/judge-entry.ts'
import { verifyRegister } from '../../journal/audit/register.ts'
import { isIntact, makeVerifyChain } from '../../journal/audit/verify-chain.ts'
import { byOrg } from '../../platform/db/by-org.ts'

const pageSize = 500

/** Writes an entry to the audit log of every org. */
export const recordUnauthenticatedRestore = async (
  { db, clock, log, secrets: [secret] }: AuditNeeds,
  { reason, takenAt }: { reason: string; takenAt: string },
): Promise<void> => {
  const audit = makeAudit({ clock, log, secret })
  const metadata = { authenticated: false, reason, taken_at: takenAt }
  for await (const { org_id: orgId } of byOrg(db, orgIdsAfter, pageSize)) {
    const entry = { orgId, actor: { kind: 'system' }, resourceType: 'org', resourceId: orgId } as const
    await db.tx((tx) => audit(tx, { ...entry, action: 'org.restored', metadata }))
  }
}

/** The orgs whose audit chain is not intact. */
export const brokenChains = async (needs: AuditNeeds): Promise<string[]> => {
  const verify = makeVerifyChain(needs)
  const register = await verifyRegister(needs.db, needs.secrets)
  const broken: string[] = []
  for await (const { org_id } of byOrg(needs.db, orgIdsAfter, pageSize)) {
    if (!isIntact(await verify(org_id, { register }))) broken.push(org_id)
  }
  return broken
}
