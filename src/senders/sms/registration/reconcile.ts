/** Registers what the registry did not get when it was created, and gives up after a week. */
import type { Actor } from '../../../journal/audit/append.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import { dayMs, minuteMs } from '../../../platform/ground/units.ts'
import type { ProvisionNumber } from '../phone-numbers/provision-number.ts'
import { type BrandRow, brandStatements } from '../store/brand-rows.ts'
import { type CampaignRow, campaignStatements } from '../store/campaign-rows.ts'
import { phoneNumberStatements } from '../store/phone-number-rows.ts'
import type { AfterRow, RegistrationRow } from '../store/registration-rows.ts'
import { type Announce, campaignSubject } from './announce.ts'
import { everyRow } from './every-row.ts'
import type { RegisterForm } from './register-form.ts'

/** Longer than any registration takes, so an expired claim belongs to a process that stopped. */
const claimMs = 10 * minuteMs
const giveUpMs = 7 * dayMs

export const reconcileTimeout = 'RECONCILE_TIMEOUT'

type ReconcileCounts = { retried: number; registered: number; failed: number }

type Needs = {
  db: Db
  clock: Clock
  announce: Announce
  registerBrand: RegisterForm<BrandRow>
  registerCampaign: RegisterForm<CampaignRow>
  provision: ProvisionNumber
}

const system: Actor = { kind: 'system' }

export const makeReconcile = (needs: Needs) => {
  const { db, clock, announce, registerBrand, registerCampaign, provision } = needs

  const ages = () => {
    const now = clock.millis()
    return { at: new Date(now), staleAt: new Date(now - claimMs), createdBefore: new Date(now - giveUpMs) }
  }

  const fail = async (): Promise<number> => {
    const parameters = { ...ages(), reason: reconcileTimeout }
    const brands = await db.rows(brandStatements.failOrphans, parameters)
    const campaigns = await db.tx(async (tx) => {
      const rows = await tx.rows(campaignStatements.failOrphans, parameters)
      for (const row of rows) {
        await announce.record(tx, system, 'campaign.updated', campaignSubject(row), { reason: reconcileTimeout })
      }
      return rows
    })
    const numbers = await db.rows(phoneNumberStatements.failOrphans, parameters)
    return brands.length + campaigns.length + numbers.length
  }

  const retry = async <R extends RegistrationRow>(
    counts: ReconcileCounts,
    claim: (page: AfterRow) => Promise<R[]>,
    register: (row: R) => Promise<R>,
  ): Promise<void> => {
    await everyRow(claim, async (row) => {
      counts.retried++
      const after = await register(row)
      if (after.provider_status !== null) counts.registered++
    })
  }

  return {
    run: async () => {
      const counts: ReconcileCounts = { retried: 0, registered: 0, failed: await fail() }
      await retry(counts, (page) => db.rows(brandStatements.claimOrphans, { ...page, ...ages() }), registerBrand)
      await retry(counts, (page) => db.rows(campaignStatements.claimOrphans, { ...page, ...ages() }), registerCampaign)
      await retry(
        counts,
        (page) => db.rows(phoneNumberStatements.claimOrphans, { ...page, ...ages() }),
        (row) => provision(row, system),
      )
      return counts
    },
  }
}

export type Reconcile = ReturnType<typeof makeReconcile>
