/** Checks of domains: whether what they must publish is there, and what follows from it. */
import { randomUUID } from 'node:crypto'
import type { Actor, Audit } from '../audit/append.ts'
import type { Db, Tx } from '../db/pool.ts'
import type { AppendEvents } from '../events/append-events.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import type { Log } from '../ground/log.ts'
import type { CheckDns, Checked } from './dns.ts'
import { type RecordStatuses, recordsOf } from './records.ts'
import type { DkimStatus, DomainStatus } from './shapes.ts'
import { claimDomain, claimDueDomains, type DomainRow, type RecordedCheck, recordCheck } from './store.ts'

const minute = 60_000
const hour = 60 * minute

/** Longer than any check: a claim that is older was lost with whoever held it. */
const lease = 5 * minute
/** For so long a domain that is not verified is looked at often. */
const eager = 72 * hour
/** So many temporary failures in a row and a verified domain no longer is. */
const patience = 3

/** How long after a check the next one is due. */
export const restAfterCheck = (status: DomainStatus, waitingMs: number): number => {
  if (status === 'verified') return 6 * hour
  return waitingMs < eager ? 5 * minute : hour
}

/** What a domain is after a check, given what it was. */
export const statusAfter = (before: DomainStatus, dkim: DkimStatus, temporaryFailures: number): DomainStatus => {
  if (dkim === 'SUCCESS') return 'verified'
  if (dkim === 'IDENTITY_NOT_FOUND') return 'unverified'
  if (before !== 'verified') return before
  return dkim === 'TEMPORARY_FAILURE' && temporaryFailures < patience ? 'verified' : 'unverified'
}

export interface CheckDomains {
  /** One pass over all that is due, to the end. */
  run(): Promise<{ domains_checked: number; domains_verified: number; domains_unverified: number }>
  /** One domain, now. When another check of it begins meanwhile, that one's result counts. */
  one(orgId: string, id: string, actor: Actor): Promise<void>
}

type Needs = {
  db: Db
  clock: Clock
  log: Log
  audit: Audit
  appendEvents: AppendEvents
  checkDns: CheckDns
  serviceDomain: string
  /** Whether the provider of this installation is simulated. */
  simulated: boolean
  /** Drops copies of the org's senders in this process at once; other processes hear of it. */
  forget: (orgId: string) => void
  batch?: number
  concurrency?: number
}

type Flip = 'verified' | 'unverified' | undefined

const flipOf = ({ status, status_before }: RecordedCheck): Flip => {
  if (status === status_before) return undefined
  if (status === 'verified') return 'verified'
  return status_before === 'verified' ? 'unverified' : undefined
}

export const makeCheckDomains = (needs: Needs): CheckDomains => {
  const { db, clock, log, audit, appendEvents, checkDns, serviceDomain, simulated, forget } = needs
  const { batch = 100, concurrency = 20 } = needs

  const everyRecord = (row: DomainRow, status: 'found' | 'pending'): RecordStatuses =>
    Object.fromEntries(recordsOf(row, serviceDomain).map(({ record }) => [record, status]))

  /** What the simulated provider says, where it says anything. */
  const simulatedCheck = (row: DomainRow): Checked | undefined => {
    if (!simulated) return undefined
    const dkim = row.simulated_status ?? (row.name.endsWith('.test') ? 'SUCCESS' : undefined)
    if (dkim === undefined) return undefined
    if (dkim === 'TEMPORARY_FAILURE') return { dkim, records: {} }
    const records = everyRecord(row, dkim === 'SUCCESS' ? 'found' : 'pending')
    return { dkim, records: dkim === 'FAILED' ? { ...records, DKIM: 'mismatch' } : records }
  }

  const look = async (row: DomainRow): Promise<Checked> => {
    // Only adding the domain again brings a vanished identity back.
    if (row.dkim_status === 'IDENTITY_NOT_FOUND') return { dkim: row.dkim_status, records: {} }
    const said = simulatedCheck(row)
    if (said) return said
    if (row.dkim_public_key === null) return { dkim: 'NOT_STARTED', records: {} }
    return checkDns(recordsOf(row, serviceDomain))
  }

  const tell = async (tx: Tx, row: RecordedCheck, flip: Flip, actor: Actor, at: Date): Promise<void> => {
    if (!flip) return
    const { id, name, region, project_id, dkim_status } = row
    const when = { [`${flip}_at`]: at.toISOString() }
    const data = { id, domain: name, status: flip, dkim_status, region, project_id, ...when }
    const event = { orgId: row.org_id, tenantId: row.tenant_id, environment: null }
    await appendEvents(tx, { ...event, event: `domain.${flip}`, data })
    await audit(tx, {
      orgId: row.org_id,
      actor,
      action: `domain.${flip}`,
      resourceType: 'domain',
      resourceId: id,
      metadata: { name, dkim_status },
    })
  }

  /** Changes nothing when another check began meanwhile, or the domain is gone. */
  const record = async (row: DomainRow, claim: string, checked: Checked, actor: Actor): Promise<Flip> => {
    const at = clock.now()
    const failures = checked.dkim === 'TEMPORARY_FAILURE' ? row.temporary_failures + 1 : 0
    const status = statusAfter(row.status, checked.dkim, failures)
    const waitingSince = row.status === 'verified' ? at : (row.waiting_since ?? row.created_at)
    const rest = restAfterCheck(status, at.getTime() - waitingSince.getTime())
    const next = checked.dkim === 'IDENTITY_NOT_FOUND' ? null : new Date(at.getTime() + rest)
    const flip = await db.tx(async (tx) => {
      const recorded = await tx.row(recordCheck, {
        orgId: row.org_id,
        id: row.id,
        claim,
        status,
        dkimStatus: checked.dkim,
        recordStatuses: JSON.stringify(checked.records),
        temporaryFailures: failures,
        nextCheckAt: next,
        at,
      })
      if (!recorded) return undefined
      const turned = flipOf(recorded)
      await tell(tx, recorded, turned, actor, at)
      return turned
    })
    if (flip) forget(row.org_id)
    return flip
  }

  const checkAll = async (rows: DomainRow[], claim: string): Promise<Flip[]> => {
    const waiting = rows.values()
    const flips: Flip[] = []
    const lane = async (): Promise<void> => {
      for (const row of waiting) {
        try {
          flips.push(await record(row, claim, await look(row), { kind: 'system' }))
        } catch (error) {
          log.error({ err: error, domain_id: row.id }, 'a domain could not be checked; it is due again shortly')
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, rows.length) }, lane))
    return flips
  }

  return {
    run: async () => {
      const counts = { domains_checked: 0, domains_verified: 0, domains_unverified: 0 }
      // What becomes due during the pass waits for the next one, so that a pass has an end.
      const due = clock.now()
      for (;;) {
        const claim = randomUUID()
        const until = new Date(clock.millis() + lease)
        const rows = await db.rows(claimDueDomains, { claim, at: due, leaseUntil: until, limit: batch })
        if (rows.length === 0) return counts
        const flips = await checkAll(rows, claim)
        counts.domains_checked += rows.length
        counts.domains_verified += flips.filter((flip) => flip === 'verified').length
        counts.domains_unverified += flips.filter((flip) => flip === 'unverified').length
      }
    },

    one: async (orgId, id, actor) => {
      const claim = randomUUID()
      const row = await db.row(claimDomain, { orgId, id, claim, leaseUntil: new Date(clock.millis() + lease) })
      if (!row) throw new Failure('NOT_FOUND')
      await record(row, claim, await look(row), actor)
    },
  }
}
