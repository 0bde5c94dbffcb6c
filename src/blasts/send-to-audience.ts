/**
 * Sends a template to the members of an audience. Everything that can refuse the send is checked first, in a fixed
 * order, while nothing is stored. Then the job is created and the messages are scheduled in portions.
 */
import type { Actor } from '../audit/append.ts'
import type { Db } from '../db/pool.ts'
import type { Clock } from '../ground/clock.ts'
import { Failure } from '../ground/errors.ts'
import { newId, timeOfId } from '../ground/ids.ts'
import { instantOfLocal } from '../ground/local-time.ts'
import type { Log } from '../ground/log.ts'
import type { MaybePromise } from '../ground/maybe-promise.ts'
import { makeOrgTurns } from '../ground/org-turns.ts'
import type { IdempotencyClaim } from '../idempotency/claims.ts'
import type { BulkChannel, BulkSend } from '../messages/bulk-channel.ts'
import type { SentBy } from '../messages/draft.ts'
import { staysScheduled } from '../messages/schedule.ts'
import type { DraftCaller } from '../messages/sent-by.ts'
import type { FindSuppressed } from '../suppressions/find-suppressed.ts'
import type { RenderTemplates } from '../templates/render.ts'
import type { Reservation, Usage } from '../usage/reserve.ts'
import { makeChooseRecipients } from './choose-recipients.ts'
import { type ComposedRows, makeComposeRows, slicesOfSlots } from './compose-rows.ts'
import { answerOf, type CreateJob, incompleteSend, type NewJob } from './create-job.ts'
import { planSlots } from './plan-slots.ts'
import type { AudienceSent, SendAudienceBody as Body } from './shapes.ts'
import { openStaging, type StagedMessages } from './stage-messages.ts'
import { findSendAudience, listSendMembers, type SendAudience, type SendMember } from './store/recipient-rows.ts'

export const maxAudienceSize = 10_000

/** Less than the lock of an Idempotency-Key, so that no other request takes the key over while this one works. */
const longestMs = 300_000
/** Each prepared send holds a connection and some megabytes. */
const atOnce = 2
/** Rows per statement, and roughly their bytes. */
const rowsAtOnce = 1_000
const bytesAtOnce = 32_000_000

export type AudienceCaller = DraftCaller & {
  /** Whether the key itself is bound to a tenant. */
  tenantBound: boolean
}

export type AudienceSend = {
  audienceId: string
  body: Body
  actor: Actor
  claim: IdempotencyClaim | undefined
}

export type SendToAudience = (caller: AudienceCaller, request: AudienceSend) => Promise<AudienceSent>

type Needs = {
  db: Db
  clock: Clock
  log: Log
  channels: Record<'email' | 'sms', BulkChannel>
  sentBy: (caller: DraftCaller) => MaybePromise<SentBy>
  templates: RenderTemplates
  findSuppressed: FindSuppressed
  usage: Usage
  jobs: CreateJob
}

const makeDeadline = () => {
  const endsAt = performance.now() + longestMs
  return (): void => {
    if (performance.now() > endsAt) throw new Error('An audience send took longer than its Idempotency-Key is locked')
  }
}

const byId = (a: SendMember, b: SendMember): number => (a.id < b.id ? -1 : 1)

export const makeSendToAudience = (needs: Needs): SendToAudience => {
  const { db, clock, log, channels, usage, jobs } = needs
  const chooseRecipients = makeChooseRecipients(needs)
  const takeTurn = makeOrgTurns({ what: 'audience sends', running: atOnce, waitingPerOrg: 10 })

  const startOf = ({ scheduled_local: local, scheduled_at_tz: zone }: Body): Date => {
    const timed = {
      scheduledAt: local === undefined || zone === undefined ? null : instantOfLocal(local, zone),
    }
    return staysScheduled(timed, clock) && timed.scheduledAt ? timed.scheduledAt : clock.now()
  }

  const audienceOf = async ({ orgId, tenantId }: DraftCaller, id: string): Promise<SendAudience> => {
    const audience = await db.row(findSendAudience, { orgId, id })
    if (!audience) throw new Failure('NOT_FOUND')
    if (tenantId !== null && audience.tenant_id !== tenantId) throw new Failure('TENANT_FORBIDDEN')
    if (audience.tenant_id !== null && audience.tenant_status !== 'active') throw new Failure('TENANT_NOT_USABLE')
    return audience
  }

  const membersOf = async (orgId: string, audience: SendAudience, { channel }: Body): Promise<SendMember[]> => {
    const tenantId = audience.tenant_id
    const limit = maxAudienceSize + 1
    const members = await db.rows(listSendMembers, { orgId, tenantId, audienceId: audience.id, channel, limit })
    if (members.length > maxAudienceSize) throw new Failure('AUDIENCE_TOO_LARGE')
    return members.sort(byId)
  }

  const spendOf = ({ by }: BulkSend, { channel }: Body) => ({
    orgId: by.orgId,
    tenantId: by.tenantId,
    environment: by.environment,
    keyId: by.keyId,
    channel,
  })

  /** Test messages use the allowance of the day on which they are accepted. */
  const reserve = async (job: NewJob): Promise<Reservation | undefined> => {
    const { send, body } = job
    if (send.by.environment === 'live') return undefined
    return usage.reserve({ ...spendOf(send, body), units: 0, testMessages: job.rows }, { id: send.jobId })
  }

  const begin = async (job: NewJob): Promise<void> => {
    const reservation = await reserve(job)
    try {
      await jobs.begin(job)
    } catch (error) {
      if (reservation) await usage.release(reservation)
      throw error
    }
  }

  /** Moves the rows in portions. Afterwards the send can no longer be refused, only be incomplete. */
  const schedule = async (
    job: NewJob,
    staged: StagedMessages,
    { rows, deferred, bytes }: ComposedRows,
    checkDeadline: () => void,
  ): Promise<AudienceSent> => {
    const { jobId, by } = job.send
    const portion = Math.max(1, Math.min(rowsAtOnce, Math.floor((bytesAtOnce * rows) / Math.max(1, bytes))))
    let scheduled = 0
    try {
      for (let from = 0; from < rows; from += portion) {
        checkDeadline()
        const moved = await staged.move({ orgId: by.orgId, id: jobId }, from, from + portion)
        if (moved === 0) throw new Error('The job ended while it was scheduled')
        scheduled += moved
      }
      if (!(await jobs.end(job, scheduled, deferred))) throw new Error('The job ended while it was scheduled')
      return answerOf(job, scheduled, deferred)
    } catch (error) {
      log.error({ err: error, job_id: jobId, scheduled, rows }, 'audience send incomplete')
      await jobs
        .giveUp(job, scheduled, deferred)
        .catch((err) => log.error({ err, job_id: jobId }, 'incomplete audience send not recorded'))
      throw incompleteSend(jobId, error)
    }
  }

  type Checked = Omit<NewJob, 'plan' | 'rows'> & {
    recipients: Awaited<ReturnType<typeof chooseRecipients>>['recipients']
    template: Awaited<ReturnType<RenderTemplates['open']>>
    quietHours: boolean
    start: Date
  }

  /** Every check before the recipients' messages are rendered. */
  const check = async (caller: AudienceCaller, request: AudienceSend): Promise<Checked> => {
    const { body, audienceId, actor, claim } = request
    const start = startOf(body)
    const audience = await audienceOf(caller, audienceId)
    const members = await membersOf(caller.orgId, audience, body)
    const by = { ...(await needs.sentBy(caller)), tenantId: audience.tenant_id }
    const { channel: name, from, template: slug, subject_variants: subjects = [] } = body
    const channel = channels[name]
    const jobId = newId('job', clock.millis())
    const send: BulkSend = {
      by,
      // Every message has the same time as its job, so that all of them are in one partition.
      at: new Date(timeOfId(jobId)),
      jobId,
      from,
      template: slug,
      trackOpens: body.track_opens,
      trackClicks: body.track_clicks,
      dltTemplateId: body.dlt_template_id ?? null,
    }
    const template = await needs.templates.open(by, { slug, channel: name, subjects })
    await channel.checkSender(send)
    const { recipients, suppressed } = await chooseRecipients({
      orgId: by.orgId,
      tenantId: by.tenantId,
      channel,
      members,
    })
    await channel.checkDestinations(
      send,
      recipients.map(({ address }) => address),
    )
    await usage.check({ ...spendOf(send, body), units: recipients.length })
    const total = members.length
    const quietHours = audience.sms_quiet_hours
    return { send, audienceId, body, total, suppressed, actor, claim, recipients, template, quietHours, start }
  }

  const prepareAndSend = async (caller: AudienceCaller, request: AudienceSend): Promise<AudienceSent> => {
    const checkDeadline = makeDeadline()
    const { recipients, template, quietHours, start, ...checked } = await check(caller, request)
    const { send, body } = checked
    const plan = await planSlots(recipients, body, { start, quietHours })
    if (recipients.length === 0) {
      const job = { ...checked, plan, rows: 0 }
      await jobs.empty(job)
      return answerOf(job, 0, 0)
    }
    const staged = await openStaging(db)
    try {
      const composed = makeComposeRows(needs, {
        channel: channels[body.channel],
        send,
        template,
        variables: body.variables,
        checksMissing: !caller.tenantBound,
      })
      for (const slots of slicesOfSlots(plan.slots)) {
        checkDeadline()
        await staged.add(composed.lines(slots))
      }
      composed.finish()
      const counts = composed.counts()
      const job = { ...checked, plan, rows: counts.rows }
      await begin(job)
      return await schedule(job, staged, counts, checkDeadline)
    } finally {
      await staged.close()
    }
  }

  return (caller, request) => takeTurn(caller.orgId, () => prepareAndSend(caller, request))
}
