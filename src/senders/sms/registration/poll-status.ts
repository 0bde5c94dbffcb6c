/** Asks the registry for the status of everything it has, and records what changed. */
import type { Actor } from '../../../journal/audit/append.ts'
import type { Db, Tx } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Log } from '../../../platform/ground/log.ts'
import { orNotFound } from '../../../platform/ground/or-not-found.ts'
import type { Scope } from '../../../platform/ground/scope.ts'
import type { SmsRegistries } from '../../../providers/registry/open-sms-registry.ts'
import { RegistryFault, type RegistryReport, type SmsRegistry } from '../../../providers/registry/sms-registry.ts'
import type { RegistrationRow, RegistrationStatus, RowKey } from '../store/registration-rows.ts'
import type { Announce } from './announce.ts'
import { everyRow } from './every-row.ts'
import { assertRegistry, orProviderUnavailable } from './may-change.ts'
import { type Polled, polledBrands, polledCampaigns, polledNumbers, polledSenderIds } from './polled-rows.ts'

type PollCounts = { polled: number; verified: number; unverified: number; unreadable: number }

type Needs = {
  db: Db
  clock: Clock
  log: Log
  announce: Announce
  registries: SmsRegistries
  /** Drops this process's cached senders of the org immediately. Other processes are notified. */
  forget: (orgId: string) => void
}

type StatusChange = { status: RegistrationStatus; reason: string | null }

/**
 * The status after a report. `lost` says why the row cannot be verified although the registry approves it: what it
 * depends on is not. A review changes nothing, because an approval stays valid while a later version is reviewed.
 */
const statusAfterReport = (row: RegistrationRow, report: RegistryReport, lost: string | null): StatusChange => {
  if (report.verdict === 'review') return { status: row.status, reason: row.status_reason }
  if (report.verdict !== 'approved') return { status: 'unverified', reason: report.reason }
  return lost === null ? { status: 'verified', reason: null } : { status: 'unverified', reason: lost }
}

const system: Actor = { kind: 'system' }

const sameList = (a: readonly string[] | null | undefined, b: readonly string[]): boolean =>
  a?.length === b.length && a.every((item, i) => item === b[i])

export const makePollStatus = ({ db, clock, log, announce, registries, forget }: Needs) => {
  /** Undefined when the registry has nothing to say. Null when it could not be read, which changes nothing. */
  const read = async <R extends RegistrationRow>(polled: Polled<R>, registry: SmsRegistry, row: R) => {
    try {
      return await polled.read(registry, row)
    } catch (error) {
      if (!(error instanceof RegistryFault)) throw error
      log.warn({ err: error, registration_id: row.id }, 'registration status unreadable')
      return null
    }
  }

  type Change<R> = { actor: Actor; before: R; after: R }

  const announceChange = async <R extends RegistrationRow>(
    tx: Tx,
    polled: Polled<R>,
    { actor, before, after }: Change<R>,
  ) => {
    const { status } = after
    const subject = polled.subjectOf(after)
    if (status !== before.status && (status === 'verified' || status === 'unverified')) {
      await announce.change(tx, actor, status, subject)
    } else if (subject.type === 'campaign') {
      const { provider_status, status_reason: reason } = after
      await announce.record(tx, actor, 'campaign.updated', subject, { provider_status, reason })
    }
  }

  /** Returns the row after the change. Undefined if nothing changed, or if the row changed meanwhile. */
  const record = async <R extends RegistrationRow>(polled: Polled<R>, row: R, report: RegistryReport, actor: Actor) => {
    const { status, reason } = statusAfterReport(row, report, polled.lostParent(row))
    const providerStatus = polled.showsStatus ? report.status : null
    const unchanged =
      status === row.status &&
      reason === row.status_reason &&
      providerStatus === row.provider_status &&
      (report.missing === undefined || sameList(polled.missingOf(row), report.missing))
    if (unchanged) return undefined
    const changes = { status, reason, providerStatus, missing: report.missing ?? null, readAt: row.updated_at }
    const after = await db.tx(async (tx) => {
      const recorded = await polled.record(tx, { orgId: row.org_id, id: row.id, ...changes, at: clock.now() })
      if (recorded) await announceChange(tx, polled, { actor, before: row, after: recorded })
      return recorded
    })
    if (after) forget(row.org_id)
    return after
  }

  const poll = async <R extends RegistrationRow>(polled: Polled<R>, counts: PollCounts): Promise<void> => {
    await everyRow(
      (page) => db.rows(polled.list, page),
      async (row) => {
        const registry = registries.of(row.environment)
        const report = registry && (await read(polled, registry, row))
        if (report === undefined) return
        counts.polled++
        if (report === null) counts.unreadable++
        const after = report && (await record(polled, row, report, system))
        const became = after?.status === row.status ? undefined : after?.status
        if (became === 'verified' || became === 'unverified') counts[became]++
      },
    )
  }

  /**
   * Asks about one row at once. Fails if the registry cannot be reached. The actor is recorded if the status changes. A
   * row that the registry has not got, or has refused for good, stays as it is.
   */
  const check = async <R extends RegistrationRow>(polled: Polled<R>, actor: Actor, key: RowKey): Promise<R> => {
    const row = await orNotFound(db.row(polled.find, key))
    if (row.status === 'failed' || row.provider_status === null) return row
    assertRegistry(registries, row.environment)
    const registry = registries.of(row.environment) as SmsRegistry
    const report = await orProviderUnavailable(polled.read(registry, row))
    const after = report && (await record(polled, row, report, actor))
    return after ?? orNotFound(db.row(polled.find, key))
  }

  return {
    checkBrand: ({ orgId }: Scope, actor: Actor, id: string) => check(polledBrands, actor, { orgId, id }),
    checkCampaign: ({ orgId }: Scope, actor: Actor, id: string) => check(polledCampaigns, actor, { orgId, id }),
    /** One pass over all rows. Brands come first, because campaigns depend on them, and numbers on campaigns. */
    run: async () => {
      const counts: PollCounts = { polled: 0, verified: 0, unverified: 0, unreadable: 0 }
      await poll(polledBrands, counts)
      await poll(polledCampaigns, counts)
      await poll(polledNumbers, counts)
      await poll(polledSenderIds, counts)
      return counts
    },
  }
}

export type PollStatus = ReturnType<typeof makePollStatus>
