/**
 * Decides whether a code may be sent, and stores its verification. Suppression, ceilings, usage and the row are decided
 * in one transaction: a fault of the database spends nothing.
 */
import type { PreparedSpend, Reservation, Usage } from '../../customers/usage/reserve.ts'
import { makeStepBatcher } from '../../platform/db/batch.ts'
import { listsOf } from '../../platform/db/lists.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { findSuppressedAmong, type SuppressionQuery } from '../../recipients/suppressions/find-suppressed.ts'
import { type Ceiling, takeStarts } from './ceilings.ts'
import { insertVerifications, type NewVerification, newVerificationColumns } from './store.ts'

type Start = {
  verification: NewVerification
  recipients: SuppressionQuery
  ceilings: Ceiling[]
  spend: PreparedSpend
}

type Decision = { start: Start; refusal?: Failure; reservation?: Reservation }

const isOpen = ({ refusal }: Decision): boolean => refusal === undefined

type Needs = { db: Db; clock: Clock; usage: Usage; windowMs: number }

export const makeAdmitStart = ({ db, clock, usage, windowMs }: Needs) => {
  const refuseSuppressed = async (tx: Tx, open: Decision[]): Promise<void> => {
    const queries = open.map(({ start }) => start.recipients)
    for (const [i, suppressed] of (await findSuppressedAmong(tx, queries)).entries()) {
      if (suppressed.size > 0) (open[i] as Decision).refusal = new Failure('UNDELIVERABLE_DESTINATION')
    }
  }

  const refuseOverCeilings = async (tx: Tx, open: Decision[]): Promise<void> => {
    const starts = open.map(({ start }) => start.ceilings)
    const refusals = await takeStarts(tx, starts, { at: clock.now(), windowMs })
    for (const [i, refusal] of refusals.entries()) if (refusal) (open[i] as Decision).refusal = refusal
  }

  /** A start that its quota refuses has spent its ceilings. */
  const reserve = async (tx: Tx, open: Decision[]): Promise<void> => {
    const spends = open.map(({ start }) => start.spend)
    for (const [i, result] of (await usage.reserveWith(tx, spends)).entries()) {
      const decision = open[i] as Decision
      if (result instanceof Failure) decision.refusal = result
      else decision.reservation = result
    }
  }

  const decide = async (tx: Tx, decisions: Decision[]): Promise<void> => {
    for (const step of [refuseSuppressed, refuseOverCeilings, reserve]) {
      const open = decisions.filter(isOpen)
      if (open.length === 0) return
      await step(tx, open)
    }
    const accepted = decisions.filter(isOpen).map(({ start }) => start.verification)
    if (accepted.length > 0) await tx.change(insertVerifications, listsOf(accepted, newVerificationColumns.names))
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

  /** Throws the error of the first rule that refuses the start. */
  return async (start: Start): Promise<Reservation> => {
    const { refusal, reservation } = await starts.submit(start)
    if (refusal) throw refusal
    return reservation as Reservation
  }
}

export type AdmitStart = ReturnType<typeof makeAdmitStart>
