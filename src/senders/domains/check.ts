/** Checks whether the DNS records of domains are published, and verifies or unverifies the domains accordingly. */
import { randomUUID } from 'node:crypto'
import type { Actor, Audit } from '../../journal/audit/append.ts'
import type { AppendEvents } from '../../journal/events/append-events.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { orNotFound } from '../../platform/ground/or-not-found.ts'
import { hourMs, minuteMs } from '../../platform/ground/units.ts'
import { makeAnnounceDomain } from './announce-domain.ts'
import type { CheckDns, CheckResult } from './dns.ts'
import type { KeepIdentities } from './identities.ts'
import { type MailHosts, type RecordStatuses, recordsOf } from './records.ts'
import type { DkimStatus, DomainStatus } from './shapes.ts'
import { claimDomain, claimDueDomains, type RecordedCheck, recordCheck } from './store/domain-checks.ts'
import type { DomainRow } from './store/domain-rows.ts'

/** Longer than any check, so an expired claim belongs to a process that stopped. */
const leaseMs = 5 * minuteMs
/** A domain that is not verified is checked often for this long. */
const frequentChecksMs = 72 * hourMs
/** This many temporary failures in a row unverify a verified domain. */
const maxTemporaryFailures = 3

/** How long after a check the next one is due. */
export const delayAfterCheck = (status: DomainStatus, waitingMs: number): number => {
  if (status === 'verified') return 6 * hourMs
  return waitingMs < frequentChecksMs ? 5 * minuteMs : hourMs
}

/** The status of a domain after a check. */
export const statusAfter = (before: DomainStatus, dkim: DkimStatus, temporaryFailures: number): DomainStatus => {
  if (dkim === 'SUCCESS') return 'verified'
  if (dkim === 'IDENTITY_NOT_FOUND') return 'unverified'
  if (before !== 'verified') return before
  return dkim === 'TEMPORARY_FAILURE' && temporaryFailures < maxTemporaryFailures ? 'verified' : 'unverified'
}

type Needs = {
  db: Db
  clock: Clock
  log: Log
  audit: Audit
  appendEvents: AppendEvents
  checkDns: CheckDns
  hosts: MailHosts
  /** Undefined when no provider needs to know the domains. */
  identities: KeepIdentities | undefined
  /** Whether the provider of this installation is simulated. */
  simulated: boolean
  /** Drops this process's cached senders of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
  batch?: number
  concurrency?: number
}

/** How a check changed the status, where that is reported. */
type Transition = 'verified' | 'unverified' | undefined

const transitionOf = ({ status, status_before }: RecordedCheck): Transition => {
  if (status === status_before) return undefined
  if (status === 'verified') return 'verified'
  return status_before === 'verified' ? 'unverified' : undefined
}

export const makeCheckDomains = (needs: Needs) => {
  const { db, clock, log, checkDns, hosts, identities, simulated, forget } = needs
  const { batch = 100, concurrency = 20 } = needs
  const announce = makeAnnounceDomain(needs)

  const everyRecord = (row: DomainRow, status: 'found' | 'pending'): RecordStatuses =>
    Object.fromEntries(recordsOf(row, hosts).map(({ record }) => [record, status]))

  /** The result of the simulated provider. Undefined when the domain must be checked in DNS. */
  const simulatedCheck = (row: DomainRow): CheckResult | undefined => {
    if (!simulated) return undefined
    const dkim = row.simulated_status ?? (row.name.endsWith('.test') ? 'SUCCESS' : undefined)
    if (dkim === undefined) return undefined
    if (dkim === 'TEMPORARY_FAILURE') return { dkim, records: {} }
    const records = everyRecord(row, dkim === 'SUCCESS' ? 'found' : 'pending')
    return { dkim, records: dkim === 'FAILED' ? { ...records, DKIM: 'mismatch' } : records }
  }

  const check = async (row: DomainRow): Promise<CheckResult> => {
    // This status is final. Only adding the domain again resets it.
    if (row.dkim_status === 'IDENTITY_NOT_FOUND') return { dkim: row.dkim_status, records: {} }
    const simulatedResult = simulatedCheck(row)
    if (simulatedResult) return simulatedResult
    if (row.dkim_public_key === null) return { dkim: 'NOT_STARTED', records: {} }
    const dns = await checkDns(recordsOf(row, hosts))
    return identities ? identities.check(row, dns) : dns
  }

  /** Appends the event and the audit entry of a transition, if there is one. Returns the transition. */
  const report = async (tx: Tx, row: RecordedCheck, actor: Actor, at: Date): Promise<Transition> => {
    const transition = transitionOf(row)
    if (!transition) return undefined
    const { region, project_id, dkim_status } = row
    await announce(tx, row, actor, {
      what: transition,
      status: transition,
      data: { dkim_status, region, project_id, [`${transition}_at`]: at.toISOString() },
      metadata: { dkim_status },
    })
    return transition
  }

  /** Changes nothing when another check has claimed the domain since, or when the domain was deleted. */
  const record = async (row: DomainRow, claim: string, result: CheckResult, actor: Actor): Promise<Transition> => {
    const at = clock.now()
    const failures = result.dkim === 'TEMPORARY_FAILURE' ? row.temporary_failures + 1 : 0
    const status = statusAfter(row.status, result.dkim, failures)
    const waitingSince = row.status === 'verified' ? at : (row.waiting_since ?? row.created_at)
    const delay = delayAfterCheck(status, at.getTime() - waitingSince.getTime())
    const transition = await db.tx(async (tx) => {
      const recorded = await tx.row(recordCheck, {
        orgId: row.org_id,
        id: row.id,
        claim,
        status,
        dkimStatus: result.dkim,
        recordStatuses: JSON.stringify(result.records),
        temporaryFailures: failures,
        nextCheckAt: result.dkim === 'IDENTITY_NOT_FOUND' ? null : new Date(at.getTime() + delay),
        at,
      })
      return recorded && report(tx, recorded, actor, at)
    })
    if (transition) forget(row.org_id)
    return transition
  }

  const checkAll = async (rows: DomainRow[], claim: string): Promise<Transition[]> => {
    const waiting = rows.values()
    const transitions: Transition[] = []
    const lane = async (): Promise<void> => {
      for (const row of waiting) {
        try {
          transitions.push(await record(row, claim, await check(row), { kind: 'system' }))
        } catch (error) {
          // The domain is due again when its lease expires.
          log.error({ err: error, domain_id: row.id }, 'domain check failed')
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, rows.length) }, lane))
    return transitions
  }

  return {
    /** Checks every domain that is due. */
    run: async () => {
      const counts = { domains_checked: 0, domains_verified: 0, domains_unverified: 0 }
      // Domains that become due during the pass wait for the next one. Otherwise a pass might never end.
      const due = clock.now()
      for (;;) {
        const claim = randomUUID()
        const leaseUntil = new Date(clock.millis() + leaseMs)
        const rows = await db.rows(claimDueDomains, { claim, at: due, leaseUntil, limit: batch })
        if (rows.length === 0) return counts
        const transitions = await checkAll(rows, claim)
        counts.domains_checked += rows.length
        counts.domains_verified += transitions.filter((transition) => transition === 'verified').length
        counts.domains_unverified += transitions.filter((transition) => transition === 'unverified').length
      }
    },

    /** Checks one domain now. If another check of it starts before this one ends, only the later result is recorded. */
    one: async (orgId: string, id: string, actor: Actor) => {
      const claim = randomUUID()
      const leaseUntil = new Date(clock.millis() + leaseMs)
      const row = await orNotFound(db.row(claimDomain, { orgId, id, claim, leaseUntil }))
      await record(row, claim, await check(row), actor)
    },
  }
}

export type CheckDomains = ReturnType<typeof makeCheckDomains>
