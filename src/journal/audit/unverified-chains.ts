/**
 * The chains that this process may neither extend nor prune, because it cannot verify them. After a change of the secret
 * that can be all of them, so one line of the log is about all that were found, and a metric shows how many there are.
 */
import { byOrg } from '../../platform/db/by-org.ts'
import { faultOfEnds } from './chain-ends.ts'
import type { AuditNeeds } from './judge-entry.ts'
import { faultOfRegister, registerName } from './register.ts'
import { makeRenewEnds } from './renew-ends.ts'
import { endsAfter } from './store/chain-rows.ts'
import { findRegister } from './store/register-rows.ts'

const page = 1_000
const maxNamed = 20
/** Any process may be the one that looks next, so what one of them found counts only until then. */
const endsCountMs = 2 * 3_600_000
const entriesCountMs = 25 * 3_600_000

const advice =
  'If AUDIT_SIGNING_SECRET was changed, add its former value to AUDIT_SIGNING_SECRET_PREVIOUS and restart. Otherwise someone may have changed the log: run `tidings ops audit verify --all`. See docs/audit.md.'

/** Why a chain cannot be verified, or undefined if it can. */
type ChainFault = string | undefined

export const makeUnverifiedChains = (needs: AuditNeeds) => {
  const { db, clock, log, secrets } = needs
  /** When a fault was last found, by org. */
  const [ends, entries] = [new Map<string, number>(), new Map<string, number>()]
  const renew = makeRenewEnds(needs)
  const news = new Map<string, string>()

  const note =
    (known: Map<string, number>) =>
    (orgId: string, fault: ChainFault): void => {
      if (fault === undefined) {
        known.delete(orgId)
        return
      }
      if (!ends.has(orgId) && !entries.has(orgId)) news.set(orgId, fault)
      known.set(orgId, clock.millis())
    }
  const noteEnds = note(ends)

  const foundSince = (known: Map<string, number>, ms: number): string[] =>
    [...known].filter(([, at]) => at > clock.millis() - ms).map(([orgId]) => orgId)

  /** Logs what was noted since the last time, if there is anything new. */
  const tell = (): void => {
    if (news.size === 0) return
    const faults: Record<string, number> = {}
    for (const fault of news.values()) faults[fault] = (faults[fault] ?? 0) + 1
    const org_ids = [...news.keys()].sort().slice(0, maxNamed)
    log.error({ chains: news.size, org_ids, faults, advice }, 'audit chains not verified')
    news.clear()
  }

  /** Looks at the ends of all chains and at the register, logs what is new, and renews what a former secret signed. */
  const survey = async (): Promise<void> => {
    const register = await db.row(findRegister)
    noteEnds(registerName, register && faultOfRegister(secrets, register))
    if (register) await renew.register(register)
    for await (const chain of byOrg(db, endsAfter, page)) {
      // Nothing is added to the chain of a deleted org or deleted from it.
      if (chain.has_org) noteEnds(chain.org_id, faultOfEnds(secrets, chain.org_id, chain))
      await renew.chain(chain.org_id, chain)
    }
    tell()
  }

  return {
    noteEnds,
    /** About the oldest entries, which retention would delete. */
    noteEntries: note(entries),
    tell,
    survey,
    /** Like `survey`, but only if there is anything new to log. */
    surveyNews: async (): Promise<void> => {
      if (news.size > 0) await survey()
    },
    count: () => new Set([...foundSince(ends, endsCountMs), ...foundSince(entries, entriesCountMs)]).size,
  }
}

export type UnverifiedChains = ReturnType<typeof makeUnverifiedChains>
