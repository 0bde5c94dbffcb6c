/**
 * Decides whether a code may be sent, and stores its verification. Suppression, ceilings, usage and the row are decided
 * in one transaction: a fault of the database spends nothing.
 */

import type { PreparedSpend, Reservation, Usage } from '../../customers/usage/reserve.ts'
import { makeStepBatcher } from '../../platform/db/batch.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { findSuppressedAmong, type SuppressionQuery } from '../../recipients/suppressions/find-suppressed.ts'
import { type Ceiling, takeStarts } from './ceilings.ts'
import { insertVerifications, type NewVerification } from './store.ts'

export type Start = {
  verification: NewVerification
  recipients: SuppressionQuery
  ceilings: Ceiling[]
  spend: PreparedSpend
}

/** Throws the error of the first rule that refuses the start. */
export type AdmitStart = (start: Start) => Promise<Reservation>

type Decision = { start: Start; refusal?: Failure; reservation?: Reservation }

const isOpen = ({ refusal }: Decision): boolean => refusal === undefined

const insert = (tx: Tx, rows: NewVerification[]): Promise<number> =>
  tx.change(insertVerifications, {
    orgIds: rows.map((row) => row.orgId),
    ids: rows.map((row) => row.id),
    tenantIds: rows.map((row) => row.tenantId),
    environments: rows.map((row) => row.environment),
    projectIds: rows.map((row) => row.projectId),
    channels: rows.map((row) => row.channel),
    destinations: rows.map((row) => row.destination),
    codeHashes: rows.map((row) => row.codeHash),
    maxAttempts: rows.map((row) => row.maxAttempts),
    dltTemplateIds: rows.map((row) => row.dltTemplateId),
    createdAt: rows.map((row) => row.createdAt),
    expiresAt: rows.map((row) => row.expiresAt),
  })

type Needs = { db: Db; clock: Clock; usage: Usage; windowMs: number }

export const makeAdmitStart = ({ db, clock, usage, windowMs }: Needs): AdmitStart => {
  const refuseSuppressed = async (tx: Tx, open: Decision[]): Promise<void> => {
    const suppressed = await findSuppressedAmong(
      tx,
      open.map(({ start }) => start.recipients),
    )
    open.forEach((decision, i) => {
      if (suppressed[i]?.size) decision.refusal = new Failure('UNDELIVERABLE_DESTINATION')
    })
  }

  const refuseOverCeilings = async (tx: Tx, open: Decision[]): Promise<void> => {
    const starts = open.map(({ start }) => start.ceilings)
    const refusals = await takeStarts(tx, starts, { at: clock.now(), windowMs })
    open.forEach((decision, i) => {
      const refusal = refusals[i]
      if (refusal) decision.refusal = refusal
    })
  }

  /** A start that its quota refuses has spent its ceilings. */
  const reserve = async (tx: Tx, open: Decision[]): Promise<void> => {
    const results = await usage.reserveWith(
      tx,
      open.map(({ start }) => start.spend),
    )
    open.forEach((decision, i) => {
      const result = results[i]
      if (result instanceof Failure) decision.refusal = result
      else if (result) decision.reservation = result
    })
  }

  const decide = async (tx: Tx, decisions: Decision[]): Promise<void> => {
    for (const step of [refuseSuppressed, refuseOverCeilings, reserve]) {
      const open = decisions.filter(isOpen)
      if (open.length === 0) return
      await step(tx, open)
    }
    const accepted = decisions.filter(isOpen)
    if (accepted.length === 0) return
    await insert(
      tx,
      accepted.map(({ start }) => start.verification),
    )
  }

  const starts = makeStepBatcher<Start, Decision>({
    name: 'verifications.start',
    run: (batch) =>
      db.tx(async (tx) => {
        const decisions: Decision[] = batch.map((start) => ({ start }))
        await decide(tx, decisions)
        return decisions
      }),
  })

  return async (start) => {
    const { refusal, reservation } = await starts.submit(start)
    if (refusal) throw refusal
    return reservation as Reservation
  }
}
