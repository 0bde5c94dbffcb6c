/** Callers and their limits: keys, tenants, sessions, usage, and the audit chain. */
import { makeSessions } from '../accounts/sessions.ts'
import { makeAdmission } from '../admission/admit.ts'
import { makeChain } from '../audit/chain.ts'
import { makePruneAudit } from '../audit/retention.ts'
import { makeFileWitness } from '../audit/witness.ts'
import { makeCallers } from '../keys/callers.ts'
import { makeTenantsByReference } from '../tenants/by-reference.ts'
import { makeCreateTenants } from '../tenants/create.ts'
import { makeUsage } from '../usage/reserve.ts'
import type { Foundation } from './foundation.ts'

export const makePlatform = ({ config, db, clock, log, limiter, caches, audit }: Foundation) => {
  const { trusted } = caches
  const { auditSecrets: secrets, auditWitness, auditRetentionDays: days } = config
  const cutover = config.auditCutover.at
  const witness = auditWitness === undefined ? undefined : makeFileWitness({ path: auditWitness, clock, log })
  const createTenants = makeCreateTenants({ db, clock, audit })
  const callers = caches.add(makeCallers({ db, log, trusted }))
  const tenants = caches.add(makeTenantsByReference({ db, create: createTenants, trusted }))
  return {
    callers,
    tenants,
    createTenants,
    usage: caches.add(makeUsage({ db, clock, trusted })),
    sessions: makeSessions({ db, clock, log }),
    admission: makeAdmission({ callers, tenants, limiter, clock }),
    chain: makeChain({ db, clock, log, secrets, cutover, witness }),
    pruneAudit: makePruneAudit({ db, clock, log, secrets, cutover, days }),
  }
}

export type Platform = ReturnType<typeof makePlatform>
