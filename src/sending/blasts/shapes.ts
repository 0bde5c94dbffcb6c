import { z } from 'zod'
import { givenId } from '../../platform/ground/bounded-text.ts'
import { domainPart, parseMailbox } from '../../platform/ground/mailbox.ts'
import { isE164 } from '../../platform/ground/phone-number.ts'
import { isSenderId } from '../../platform/ground/sender-id.ts'
import {
  checkLocalTime,
  customIssue,
  exampleInstant,
  instant,
  localTime,
  refusingOtherSends,
  timeZone,
} from '../messages/shapes.ts'
import { VariablesShape } from '../templates/variables.ts'

const minute = 60
export const maxRampMinutes = 24 * minute

const WinnerRequest = z
  .object({
    test_percent: z.int().min(5).max(50).describe('The share of the recipients that get the test, in percent.'),
    wait_minutes: z
      .int()
      .min(15)
      .max(1_440)
      .describe('How long to wait for results after the last message of the test.'),
    by: z.enum(['opened', 'clicked']).describe('What the best subject is chosen by.'),
  })
  .meta({ id: 'WinnerRequest', examples: [{ test_percent: 20, wait_minutes: 60, by: 'opened' }] })

const notHere = 'Not supported here. Use scheduled_local with scheduled_at_tz.'

const sendFields = refusingOtherSends(
  z.object({
    channel: z.enum(['email', 'sms']).describe('The channel of the messages.'),
    from: z
      .string()
      .min(1)
      .max(1_000)
      .describe('The sender: an address of a verified domain for email, a number or a sender id for SMS.'),
    template: z.string().min(1).max(64).describe('The slug of the template to render for each recipient.'),
    variables: VariablesShape.default({}).describe(
      'Values for all recipients, up to 65,536 bytes and 10 levels deep. The metadata of a contact overrides them.',
    ),
    ramp_minutes: z
      .int()
      .min(0)
      .max(maxRampMinutes)
      .default(0)
      .describe('Spreads the messages evenly over this time. 0 sends them all at once.'),
    subject_variants: z
      .array(z.string().min(1).max(998))
      .min(2)
      .max(5)
      .optional()
      .describe('2 to 5 subjects that replace the subject of the template. Each contact gets one of them.'),
    stream: z.literal('broadcast').optional().describe('Always `broadcast`: members who unsubscribed are skipped.'),
    scheduled_at: z.never(notHere).optional().describe(notHere),
    scheduled_local: localTime.describe(
      'The local time of the first message, in the zone `scheduled_at_tz`. Now if you omit it.',
    ),
    scheduled_at_tz: timeZone.describe('The IANA time zone of `scheduled_local`.'),
    dlt_template_id: givenId.optional().describe('The approved DLT template, required if a recipient is in India.'),
    track_opens: z.boolean().default(true).describe('Counts opens of an email. Ignored for SMS.'),
    track_clicks: z.boolean().default(true).describe('Counts clicks on links in an email. Ignored for SMS.'),
    winner: WinnerRequest.optional().describe(
      'Sends the subjects to a share of the recipients first, and the best one to the others.',
    ),
  }),
)
type Given = z.output<typeof sendFields>

const checkFrom = ({ channel, from }: Given, context: z.RefinementCtx): void => {
  if (channel === 'sms') {
    if (isE164(from) || isSenderId(from)) return
    customIssue(context, ['from'], 'Must be a number in E.164 form or an alphanumeric sender id.')
    // An address without a domain has an error code of its own.
  } else if (!parseMailbox(from) && domainPart(from) !== '') {
    customIssue(context, ['from'], 'Must be an email address, with or without a display name.')
  }
}

const checkWinner = (given: Given, context: z.RefinementCtx): void => {
  const { winner } = given
  if (!winner) return
  if (given.channel === 'sms') customIssue(context, ['winner'], 'Only for email.')
  if (!given.subject_variants) customIssue(context, ['subject_variants'], 'Required with winner.')
  const flag = winner.by === 'opened' ? 'track_opens' : 'track_clicks'
  if (!given[flag]) customIssue(context, ['winner', 'by'], `Needs ${flag}.`)
}

export const SendAudienceBody = sendFields
  .superRefine((given, context) => {
    checkFrom(given, context)
    checkLocalTime(given, context)
    checkWinner(given, context)
  })
  .meta({
    id: 'SendToAudience',
    examples: [{ channel: 'email', from: 'Acme <hello@example.test>', template: 'welcome', ramp_minutes: 30 }],
  })
export type SendAudienceBody = z.output<typeof SendAudienceBody>

const exampleJobId = 'job_01k5w3v8q6e9rbx2t7m4n0c1yz'
const exampleAudienceId = 'aud_01k5w3v8q6e9rbx2t7m4n0c1yz'

export const AudienceSent = z
  .strictObject({
    job_id: z.string().describe('The id of the job.'),
    audience_id: z.string().describe('The id of the audience.'),
    total: z.int().describe('The number of members of the audience.'),
    scheduled: z.int().describe('The number of messages that are scheduled.'),
    suppressed: z.int().describe('The number of members that are skipped because they are suppressed.'),
    deferred_quiet_hours: z.int().describe('The number of scheduled messages that quiet hours move to a later time.'),
    starts_at: instant.describe('When the first message is due.'),
    ends_at: instant.describe('When the last message is due.'),
  })
  .meta({
    id: 'AudienceSent',
    examples: [
      {
        job_id: exampleJobId,
        audience_id: exampleAudienceId,
        total: 3,
        scheduled: 2,
        suppressed: 1,
        deferred_quiet_hours: 0,
        starts_at: exampleInstant,
        ends_at: exampleInstant,
      },
    ],
  })
export type AudienceSent = z.output<typeof AudienceSent>

export const SendEstimate = z.strictObject({
  audience_id: z.string(),
  channel: z.enum(['email', 'sms']),
  total: z.int(),
  recipients: z.int(),
  suppressed: z.int(),
  /** Null for email. */
  segments: z.int().nullable(),
  /** What the contents of all messages count towards the largest send. */
  bytes: z.int(),
  cost: z.strictObject({ currency: z.literal('USD'), amount: z.string() }),
  deferred_quiet_hours: z.int(),
  starts_at: instant,
  ends_at: instant,
})
export type SendEstimate = z.output<typeof SendEstimate>

const counts = z.strictObject({
  scheduled: z.int().describe('Messages that are not due yet.'),
  sending: z.int().describe('Messages that are being sent.'),
  sent: z.int().describe('Messages that the provider accepted, without a report yet.'),
  delivered: z.int().describe('Messages that were delivered.'),
  bounced: z.int().describe('Messages that bounced.'),
  failed: z.int().describe('Messages that could not be sent.'),
  canceled: z.int().describe('Messages that were canceled.'),
})

export const JobWinner = z.strictObject({
  test_percent: z.int().describe('The share of the recipients that get the test, in percent.'),
  wait_minutes: z.int().describe('How long results are awaited after the last message of the test.'),
  by: z.enum(['opened', 'clicked']).describe('What the best subject is chosen by.'),
  decides_at: instant.describe('When the best subject is chosen.'),
  variant: z.string().nullable().describe('The letter of the best subject. `null` until it is chosen.'),
  decided_at: instant.nullable().describe('When the best subject was chosen, or `null`.'),
})
export type JobWinner = z.output<typeof JobWinner>

export const Job = z
  .strictObject({
    id: z.string().describe('The id of the job.'),
    audience_id: z.string().describe('The id of the audience.'),
    channel: z.enum(['email', 'sms']).describe('The channel of the messages.'),
    status: z
      .enum(['scheduling', 'scheduled', 'running', 'completed', 'canceled'])
      .describe('`running` from the first message that is sent until no message is left.'),
    incomplete: z.boolean().describe('Whether scheduling stopped before all messages were scheduled.'),
    from: z.string().describe('The sender.'),
    template: z.string().describe('The slug of the template.'),
    total: z.int().describe('The number of members of the audience when the job was created.'),
    scheduled: z.int().describe('The number of messages that were scheduled.'),
    suppressed: z.int().describe('The number of members that were skipped because they are suppressed.'),
    deferred_quiet_hours: z.int().describe('The number of messages that quiet hours moved when they were scheduled.'),
    counts: counts.describe('The messages of the job by their present status.'),
    winner: JobWinner.nullable().describe('The choice of the best subject, or `null`.'),
    starts_at: instant.nullable().describe('When the first message is due, or `null` while it is not known.'),
    ends_at: instant.nullable().describe('When the last message is due, or `null` while it is not known.'),
    created_at: instant.describe('When the job was created.'),
    started_at: instant.nullable().describe('When the first message was sent, or `null`.'),
    completed_at: instant.nullable().describe('When no message was left, or `null`.'),
    canceled_at: instant.nullable().describe('When the job was canceled, or `null`.'),
    tenant_id: z.string().nullable().describe('The tenant of the job, or `null`.'),
  })
  .meta({
    id: 'Job',
    examples: [
      {
        id: exampleJobId,
        audience_id: exampleAudienceId,
        channel: 'email',
        status: 'running',
        incomplete: false,
        from: 'Acme <hello@example.test>',
        template: 'welcome',
        total: 3,
        scheduled: 2,
        suppressed: 1,
        deferred_quiet_hours: 0,
        counts: { scheduled: 1, sending: 0, sent: 1, delivered: 0, bounced: 0, failed: 0, canceled: 0 },
        winner: null,
        starts_at: exampleInstant,
        ends_at: exampleInstant,
        created_at: exampleInstant,
        started_at: exampleInstant,
        completed_at: null,
        canceled_at: null,
        tenant_id: null,
      },
    ],
  })

export const JobCanceled = z
  .strictObject({
    id: z.string().describe('The id of the job.'),
    status: z.literal('canceled').describe('Always `canceled`.'),
    canceled: z.int().describe('The number of messages that this request canceled.'),
  })
  .meta({ id: 'JobCanceled', examples: [{ id: exampleJobId, status: 'canceled', canceled: 12 }] })
