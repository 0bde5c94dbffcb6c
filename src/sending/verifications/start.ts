/** Starts a verification: refuses what must not be sent, stores the hash of a new code, and sends the code. */
import type { Reservation, Usage } from '../../customers/usage/reserve.ts'
import { lostConnection } from '../../platform/db/faults.ts'
import type { Db } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { Failure } from '../../platform/ground/errors.ts'
import { iso } from '../../platform/ground/instant.ts'
import { isPremium } from '../../platform/ground/phone-number.ts'
import { claimedId, type IdempotencyClaim } from '../../platform/idempotency/claims.ts'
import type { ChannelAdapter } from '../messages/channel-adapter.ts'
import { appliesTo, type Draft, type DraftCaller, passGates } from '../messages/draft.ts'
import type { Messages } from '../messages/open-messages.ts'
import { spendBy } from '../messages/sent-message.ts'
import type { AdmitStart } from './admit-start.ts'
import { ceilingsOf } from './ceilings.ts'
import { emailOfCode, smsOfCode } from './draft-code.ts'
import type { OneTimeCodes } from './one-time-code.ts'
import type { SendCode } from './send-code.ts'
import type { StartedVerification, StartVerification } from './shapes.ts'
import { resumeVerification } from './store.ts'

type Needs = {
  db: Db
  clock: Clock
  usage: Usage
  codes: Messages['codes']
  hashes: OneTimeCodes
  admit: AdmitStart
  send: SendCode
}

type Prepared<D extends Draft> = {
  draft: D
  code: string
  body: StartVerification
  claim: IdempotencyClaim | undefined
}

/** A verification that is stored and whose code may be sent. */
type Accepted = { reservation: Reservation; expiresAt: Date }

export const makeStartCode = ({ db, clock, usage, codes, hashes, admit, send }: Needs) => {
  /** The sandbox sender writes to members only. These checks need the look-up of suppressions before them. */
  const passLateGates = async <D extends Draft>(channel: ChannelAdapter<D>, draft: D): Promise<void> => {
    if (!channel.lateGates.code.some((gate) => appliesTo(gate, draft))) return
    const recipients = { orgId: draft.by.orgId, channel: draft.channel, ...channel.recipientsOf(draft) }
    if ((await codes.findSuppressed(recipients)).size > 0) throw new Failure('UNDELIVERABLE_DESTINATION')
    await passGates(channel.lateGates.code, draft, 'code')
  }

  /** Takes up the verification that an interrupted request has stored. Its usage and its ceilings are counted. */
  const resume = async <D extends Draft>({ draft, code, body }: Prepared<D>, reservation: Reservation) => {
    const { id, by } = draft
    const now = clock.now()
    const row = await db.row(resumeVerification, {
      orgId: by.orgId,
      id,
      codeHash: hashes.of(id, code),
      now,
      renewedUntil: new Date(now.getTime() + body.ttl_seconds * 1000),
    })
    return row && { reservation, expiresAt: row.expires_at }
  }

  /** Runs every check, and stores the verification if all pass. */
  const accept = async <D extends Draft>(through: ChannelAdapter<D>, prepared: Prepared<D>): Promise<Accepted> => {
    const { draft, code, body, claim } = prepared
    const { channel } = draft
    const { orgId, tenantId, environment, projectId } = draft.by
    if (channel === 'sms' && isPremium(body.to)) throw new Failure('UNDELIVERABLE_DESTINATION')
    await passGates(through.gates.code, draft, 'code')
    await passLateGates(through, draft)
    const { sandbox, ...price } = await through.priceOf(draft)
    const spend = await usage.prepare({ ...spendBy(draft), ...price })
    const resumed = claim?.interrupted && (await resume(prepared, spend))
    if (resumed) return resumed
    // A code does not count against the day's sandbox messages, but needs one to be left.
    if (sandbox) await usage.check({ ...spendBy(draft), units: 0, sandbox })
    const recipients = through.recipientsOf(draft)
    const [destination] = recipients.values as [string]
    const expiresAt = new Date(draft.createdAt.getTime() + body.ttl_seconds * 1000)
    const reservation = await admit({
      verification: {
        org_id: orgId,
        id: draft.id,
        tenant_id: tenantId,
        environment,
        project_id: projectId,
        channel,
        destination,
        code_hash: hashes.of(draft.id, code),
        max_attempts: body.max_attempts,
        dlt_template_id: 'dlt' in draft && draft.dlt ? (body.dlt_template_id ?? null) : null,
        created_at: draft.createdAt,
        expires_at: expiresAt,
      },
      recipients: { orgId, channel, ...recipients },
      ceilings: ceilingsOf({ orgId, environment, channel, destination, rateLimitKey: body.rate_limit_key }),
      spend,
    })
    return { reservation, expiresAt }
  }

  /** If the connection is lost, the verification may be stored. A later request with the same key takes it up. */
  const acceptOnce: typeof accept = (through, prepared) =>
    accept(through, prepared).catch((error) => {
      if (prepared.claim && lostConnection(error)) prepared.claim.interrupted = true
      throw error
    })

  return async (
    caller: DraftCaller,
    body: StartVerification,
    claim: IdempotencyClaim | undefined,
  ): Promise<StartedVerification> => {
    const by = await codes.sentBy(caller)
    const id = claimedId('verification', claim, clock)
    const code = hashes.codeOf(id, by.environment, body.code_length)
    const start = async <D extends Draft>(pipeline: Parameters<typeof send<D>>[0], draft: D): Promise<Date> => {
      const { reservation, expiresAt } = await acceptOnce(pipeline.channel, { draft, code, body, claim })
      await send(pipeline, { draft, code, reservation, claim })
      return expiresAt
    }
    const given = { id, by, code }
    const expiresAt = await (body.channel === 'sms'
      ? start(codes.sms, smsOfCode(given, body))
      : start(codes.email, emailOfCode(given, body)))
    return { id, status: 'pending', channel: body.channel, expires_at: iso(expiresAt) }
  }
}

export type StartCode = ReturnType<typeof makeStartCode>
