/** Hands a stored code to the provider. If the provider does not take it, the verification is withdrawn. */
import type { Reservation } from '../../customers/usage/reserve.ts'
import { isDatabaseFault, lostConnection } from '../../platform/db/faults.ts'
import { retryOnOutage } from '../../platform/db/outage.ts'
import type { Db } from '../../platform/db/pool.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { assertHeld, type IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { HandoverFault } from '../../providers/handover.ts'
import type { Draft } from '../messages/draft.ts'
import { isTransient } from '../messages/hand-over.ts'
import { asHandoverFault, noProvider } from '../messages/rows.ts'
import type { SendNeeds } from '../messages/send.ts'
import { releasesUsage } from '../messages/sent-message.ts'
import { deleteVerification } from './store.ts'

type CodePipeline<D extends Draft> = Pick<SendNeeds<D>, 'channel' | 'beginHandOver'>

type Sent<D extends Draft = Draft> = {
  draft: D
  code: string
  reservation: Reservation
  claim: IdempotencyClaim | undefined
}

export type SendCode = <D extends Draft>(pipeline: CodePipeline<D>, sent: Sent<D>) => Promise<void>

type Needs = Pick<SendNeeds<Draft>, 'log' | 'usage' | 'applyReports' | 'suppressRefused'> & { db: Db }

const unavailable = 'The provider is unavailable, and the code was not sent. Retry later.'

export const makeSendCode = ({ db, log, usage, applyReports, suppressRefused }: Needs): SendCode => {
  /**
   * Deletes the verification and releases its usage. The response does not wait for a database that is down. A later
   * request with the same key takes the verification up if it comes first.
   */
  const withdraw = async ({ draft: { id, by }, claim }: Sent, released: Reservation | undefined): Promise<void> => {
    const logFailure = (error: unknown) => log.error({ err: error, verification_id: id }, 'verification not withdrawn')
    const withdrawn = () =>
      db.tx(async (tx) => {
        if (claim && !(await claim.isLast(tx))) {
          log.info({ verification_id: id }, 'verification taken up by a repeated request')
          return
        }
        const deleted = await tx.change(deleteVerification, { orgId: by.orgId, id })
        if (deleted > 0 && released) await usage.releaseWith(tx, released)
      })
    await withdrawn().catch((error) => {
      if (!lostConnection(error)) return logFailure(error)
      if (claim) claim.interrupted = true
      void retryOnOutage(withdrawn).catch(logFailure)
    })
  }

  /** A provider may repeat the content in its reply, and a code must not be logged. */
  const logFault = ({ id }: Draft, { kind, provider, message }: HandoverFault, code: string): void => {
    const reason = message.replaceAll(code, '[code]')
    log.warn({ verification_id: id, kind, provider, reason }, 'code handover failed')
  }

  return async ({ beginHandOver }, sent) => {
    const { draft, code, reservation, claim } = sent
    try {
      assertHeld(claim)
      const { reports } = await beginHandOver()(draft)
      if (reports) applyReports(draft.by.orgId, draft.id, reports)
    } catch (error) {
      // The destination was suppressed after the start was admitted, or another process may have the key by now.
      if (error instanceof Failure) {
        await withdraw(sent, reservation)
        throw error.code === 'SUPPRESSED' ? new Failure('UNDELIVERABLE_DESTINATION') : error
      }
      const fault = asHandoverFault(error)
      // The look-up before the handover failed, so nothing was sent.
      if (fault.provider === noProvider && isDatabaseFault(fault.cause)) {
        await withdraw(sent, reservation)
        throw fault.cause
      }
      logFault(draft, fault, code)
      await suppressRefused(draft, fault)
      await withdraw(sent, releasesUsage(fault) ? reservation : undefined)
      throw new Failure('SEND_FAILED', isTransient(fault) ? { message: unavailable } : {})
    }
  }
}
