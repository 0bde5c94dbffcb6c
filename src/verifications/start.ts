/** Starts a verification: refuses what must not be sent, stores the hash of a new code, and sends the code. */
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import { iso } from '../ground/instant.ts'
import { isPremium } from '../ground/phone-number.ts'
import type { ChannelAdapter } from '../messages/channel-adapter.ts'
import { appliesTo, type Draft, passGates } from '../messages/draft.ts'
import type { Messages } from '../messages/open-messages.ts'
import type { DraftCaller } from '../messages/sent-by.ts'
import { spendBy } from '../messages/sent-message.ts'
import type { FindSuppressed } from '../suppressions/find-suppressed.ts'
import type { Reservation, Usage } from '../usage/reserve.ts'
import type { AdmitStart } from './admit-start.ts'
import { ceilingsOf } from './ceilings.ts'
import { emailOfCode, smsOfCode } from './draft-code.ts'
import { type CodeHashes, newCode } from './one-time-code.ts'
import type { SendCode } from './send-code.ts'
import type { StartedVerification, StartVerification } from './shapes.ts'

export type StartCode = (caller: DraftCaller, body: StartVerification) => Promise<StartedVerification>

type Needs = {
  clock: Clock
  usage: Usage
  codes: Messages['codes']
  hashes: CodeHashes
  admit: AdmitStart
  send: SendCode
}

/** What is stored and sent. */
type Prepared<D extends Draft> = { draft: D; code: string; body: StartVerification }

/** The sandbox sender writes to members only. These checks need the look-up of suppressions before them. */
const passLateGates = async <D extends Draft>(
  channel: ChannelAdapter<D>,
  draft: D,
  findSuppressed: FindSuppressed,
): Promise<void> => {
  if (!channel.lateGates.code.some((gate) => appliesTo(gate, draft))) return
  const recipients = { orgId: draft.by.orgId, channel: draft.channel, ...channel.recipientsOf(draft) }
  if ((await findSuppressed(recipients)).size > 0) throw new Failure('UNDELIVERABLE_DESTINATION')
  await passGates(channel.lateGates, draft, 'code')
}

export const makeStartCode = ({ clock, usage, codes, hashes, admit, send }: Needs): StartCode => {
  /** Runs every check, and stores the verification if all pass. */
  const accept = async <D extends Draft>(
    channel: ChannelAdapter<D>,
    { draft, code, body }: Prepared<D>,
    expiresAt: Date,
  ): Promise<Reservation> => {
    const { orgId, tenantId, environment, projectId } = draft.by
    if (draft.channel === 'sms' && isPremium(body.to)) throw new Failure('UNDELIVERABLE_DESTINATION')
    await passGates(channel.gates, draft, 'code')
    await passLateGates(channel, draft, codes.findSuppressed)
    const { sandbox, ...price } = await channel.priceOf(draft)
    // A code does not count against the day's sandbox messages, but needs one to be left.
    if (sandbox) await usage.check({ ...spendBy(draft), units: 0, sandbox })
    const recipients = channel.recipientsOf(draft)
    const [destination] = recipients.values as [string]
    return admit({
      verification: {
        orgId,
        id: draft.id,
        tenantId,
        environment,
        projectId,
        channel: draft.channel,
        destination,
        codeHash: hashes.of(draft.id, code),
        maxAttempts: body.max_attempts,
        dltTemplateId: 'dlt' in draft && draft.dlt ? (body.dlt_template_id ?? null) : null,
        createdAt: draft.createdAt,
        expiresAt,
      },
      recipients: { orgId, channel: draft.channel, ...recipients },
      ceilings: ceilingsOf({
        orgId,
        environment,
        channel: draft.channel,
        destination,
        rateLimitKey: body.rate_limit_key,
      }),
      spend: await usage.prepare({ ...spendBy(draft), ...price }),
    })
  }

  return async (caller, body) => {
    const by = await codes.sentBy(caller)
    const id = newId('verification', clock.millis())
    const createdAt = new Date(timeOfId(id))
    const expiresAt = new Date(createdAt.getTime() + body.ttl_seconds * 1000)
    const code = newCode(by.environment, body.code_length)
    const start = async <D extends Draft>(pipeline: Parameters<typeof send<D>>[0], draft: D): Promise<void> => {
      const reservation = await accept(pipeline.channel, { draft, code, body }, expiresAt)
      await send(pipeline, { draft, code, reservation })
    }
    const given = { id, createdAt, by, code }
    if (body.channel === 'sms') await start(codes.sms, smsOfCode(given, body))
    else await start(codes.email, emailOfCode(given, body))
    return { id, status: 'pending', channel: body.channel, expires_at: iso(expiresAt) }
  }
}
