/** Exports of orgs and of personal data, and their files. */
import { makeClaimLoop } from '../../interfaces/worker/claim-loop.ts'
import type { SignInConfig } from '../../platform/ground/config/config.ts'
import { openFileStore } from '../../providers/objects/open-store.ts'
import { makeExportJobs } from '../../reports/exports/export-jobs.ts'
import { makePersonalExport } from '../../reports/exports/personal-export.ts'
import { makeExportRetention } from '../../reports/exports/retention.ts'
import { makeRunExports } from '../../reports/exports/run-jobs.ts'
import { makeStreamOrg } from '../../reports/exports/stream-org.ts'
import { makeWriteOrg } from '../../reports/exports/write-org.ts'
import type { Foundation } from './foundation.ts'
import type { People } from './people.ts'
import type { Replacements } from './replacements.ts'

const providerIdsOf = ({ google, github, oidc }: SignInConfig): Map<string, string> => {
  const ids = new Map<string, string>()
  if (google) ids.set(google.issuer, 'google')
  if (github) ids.set(github.url, 'github')
  if (oidc) ids.set(oidc.issuer, 'oidc')
  return ids
}

export const makeExports = (foundation: Foundation, { recordPersonal }: People, replacements: Replacements) => {
  const { config, db, reads, clock, log, limiter, audit } = foundation
  const store = replacements.exportStore ?? openFileStore(config.exportStore, config.awsRegion)
  const writeOrg = makeWriteOrg({ db: reads.snapshots, clock })
  const shared = { db, clock, log, limiter, audit, store, writeOrg }
  const run = makeRunExports({ ...shared, writeAgain: makeWriteOrg({ db, clock }) })
  const loop = makeClaimLoop({ name: 'exports', log, claim: run.claim, work: run.work, concurrency: 1, idleMs: 1_000 })
  const retention = makeExportRetention(shared)
  return {
    retention,
    streamOrg: makeStreamOrg(shared),
    jobs: makeExportJobs(shared),
    exportOwnData: makePersonalExport({ ...shared, recordPersonal, providerIds: providerIdsOf(config.signIn) }),
    loop,
    drain: async (): Promise<void> => {
      run.interrupt()
      await loop.drain()
      store.close()
    },
  }
}

export type Exports = ReturnType<typeof makeExports>
