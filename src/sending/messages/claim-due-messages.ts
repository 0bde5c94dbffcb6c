/** Claims due messages for this process. The orgs take turns, so that none waits for the messages of another. */
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { newId } from '../../platform/ground/ids.ts'
import { minuteMs } from '../../platform/ground/units.ts'
import { type ClaimedRow, claimDue, nextDueOrgs } from './store/claim-messages.ts'

/** After this time a claim is stale: its worker is presumed dead. */
const staleMs = 5 * minuteMs
/** A claim ends with the message that reaches this size, because all its messages are in memory at the same time. */
const defaultClaimBytes = 32 * 1_048_576
/** How many orgs share one claim. */
const orgsPerClaim = 100

type Needs = { db: Db; clock: Clock; claimBytes: number | undefined }

export const makeClaimDueMessages = ({ db, clock, claimBytes = defaultClaimBytes }: Needs) => {
  let lastOrgId = ''

  /** The next orgs with due messages, in round-robin order. After the last org it starts again at the first. */
  const nextOrgs = async (now: Date, limit: number): Promise<string[]> => {
    const orgsAfter = (orgId: string) => db.rows(nextDueOrgs, { after: orgId, now, limit })
    const rows = await orgsAfter(lastOrgId)
    const turn = rows.length > 0 || lastOrgId === '' ? rows : await orgsAfter('')
    lastOrgId = turn.length < limit ? '' : (turn.at(-1)?.org_id ?? '')
    return turn.map(({ org_id }) => org_id)
  }

  /** The orgs that got nothing because the claim had reached its size come first in the next one. */
  const resumeAtUnserved = (orgIds: string[], rows: ClaimedRow[]): void => {
    if (rows.reduce((sum, { bytes }) => sum + bytes, 0) < claimBytes) return
    const served = new Set(rows.map(({ org_id }) => org_id))
    const firstUnserved = orgIds.findIndex((orgId) => !served.has(orgId))
    if (firstUnserved > 0) lastOrgId = orgIds[firstUnserved - 1] as string
  }

  return async (limit: number): Promise<ClaimedRow[]> => {
    const now = clock.now()
    // Never more orgs than messages: an org beyond the limit would lose its turn without a message being claimed.
    const orgIds = await nextOrgs(now, Math.min(orgsPerClaim, limit))
    if (orgIds.length === 0) return []
    const rows = await db.rows(claimDue, {
      orgIds,
      now,
      staleAt: new Date(now.getTime() + staleMs),
      claim: newId('request', now.getTime()),
      perOrg: Math.ceil(limit / orgIds.length),
      limit,
      maxBytes: claimBytes,
    })
    resumeAtUnserved(orgIds, rows)
    return rows
  }
}
