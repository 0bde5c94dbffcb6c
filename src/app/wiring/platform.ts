/** Callers and their limits: keys, tenants, sessions, usage, and the audit chain. */
import { makeSessions } from '../../customers/accounts/sessions.ts'
import { makeAdmission } from '../../customers/admission/admit.ts'
import { makeCallers } from '../../customers/keys/callers.ts'
import { makeTenantsByReference } from '../../customers/tenants/by-reference.ts'
import { makeCreateTenants } from '../../customers/tenants/create.ts'
import { makeUsage } from '../../customers/usage/reserve.ts'
import { makeArchiveDay } from '../../journal/audit/archive-day.ts'
import { makeChain } from '../../journal/audit/chain.ts'
import { openWitness } from '../../journal/audit/open-witness.ts'
import { makePruneAudit } from '../../journal/audit/retention.ts'
import { makeUnverifiedChains } from '../../journal/audit/unverified-chains.ts'
import { makeTokenCallers } from '../../people/oauth/token-callers.ts'
import { openFileStore } from '../../providers/objects/open-store.ts'
import type { Foundation } from './foundation.ts'

export const makePlatform = (foundation: Foundation) => {
  const { config, db, clock, log, limiter, caches, audit, auditNeeds, metrics } = foundation
  const { trusted } = caches
  const { auditWitness: name, awsRegion: region, auditRetentionDays: days } = config
  const witness = name === undefined ? undefined : openWitness({ name, region, clock, log })
  const bucket = config.auditArchiveBucket
  const archive =
    bucket === undefined ? undefined : makeArchiveDay({ db, store: openFileStore(`s3://${bucket}`, region) })
  metrics.gauge(
    'audit_witness_unwritten_seconds',
    'For how long the oldest new head of an audit chain has not been written to the witness',
    () => (witness?.unwrittenMs() ?? 0) / 1_000,
  )
  const unverified = makeUnverifiedChains(auditNeeds)
  metrics.gauge(
    'audit_chains_unverified',
    'Audit chains that are not extended or pruned because they do not verify, and the register if it does not',
    unverified.count,
  )
  const createTenants = makeCreateTenants({ db, clock, audit })
  const callers = caches.add(makeCallers({ db, log, trusted }))
  const tokenCallers = makeTokenCallers({ db, log, keys: callers })
  const tenants = caches.add(makeTenantsByReference({ db, create: createTenants, trusted }))
  return {
    callers,
    tokenCallers,
    tenants,
    createTenants,
    usage: caches.add(makeUsage({ db, clock, log, trusted })),
    sessions: makeSessions({ db, clock, log }),
    /** Over SMTP, where a password is an API key. */
    admission: makeAdmission({ callers, tenants, limiter, clock }),
    /** Over HTTP, where OAuth tokens work too. */
    httpAdmission: makeAdmission({ callers: tokenCallers, tenants, limiter, clock }),
    chain: makeChain({ ...auditNeeds, witness, unverified }),
    pruneAudit: makePruneAudit({ ...auditNeeds, days, archive, unverified }),
  }
}

export type Platform = ReturnType<typeof makePlatform>
