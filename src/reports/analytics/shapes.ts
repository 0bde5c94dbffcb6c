import { z } from 'zod'
import { givenId, patternText } from '../../platform/ground/bounded-text.ts'

export const maxDays = 180
/** More rows than an org has jobs. The newest jobs come first. */
export const maxFigureRows = 10_000

export const AnalyticsQuery = z.object({
  group_by: z
    .enum(['job', 'variant'])
    .optional()
    .describe(
      '`job` gives one row for each job and one for all other messages, `variant` one row for each subject variant of a job. Without it there is one row for each day.',
    ),
  job: givenId.optional().describe('Only messages of this job.'),
  variant: z.string().min(1).max(64).optional().describe('Only messages with this subject variant, such as `A`.'),
  days: patternText(/^\d{1,3}$/, 3, `Must be a whole number from 1 to ${maxDays}.`)
    .transform(Number)
    .pipe(z.number().min(1, `Must be 1 to ${maxDays}.`).max(maxDays, `Must be 1 to ${maxDays}.`))
    .default(30)
    .meta({ description: 'The number of days, 1 to 180, ending with today in UTC.', type: 'integer' }),
})
export type AnalyticsQuery = z.output<typeof AnalyticsQuery>

const count = (text: string) => z.int().min(0).describe(text)
const rate = (text: string) => z.number().min(0).describe(`${text} 0 if there are none. Rounded to four decimals.`)

const exampleRow = {
  date: '2026-01-15',
  job: null,
  variant: null,
  sent: 100,
  delivered: 98,
  bounced: 1,
  failed: 1,
  complained: 0,
  opened: 40,
  clicked: 12,
  unsubscribed: 2,
  open_rate: 0.4082,
  click_rate: 0.1224,
  bounce_rate: 0.01,
  complaint_rate: 0,
  unsubscribe_rate: 0.0204,
}

const AnalyticsRow = z
  .strictObject({
    date: z.string().nullable().describe('The UTC day that the messages were sent on. `null` with `group_by`.'),
    job: z.string().nullable().describe('The job. `null` for messages of no job, and without `group_by`.'),
    variant: z.string().nullable().describe('The subject variant, with `group_by=variant`.'),
    sent: count('Messages that were handed to a provider.'),
    delivered: count('Messages that were delivered.'),
    bounced: count('Messages that bounced.'),
    failed: count('Messages that could not be sent or delivered.'),
    complained: count('Messages that a recipient reported as spam. They do not count as bounced.'),
    opened: count('Messages that were opened, however often.'),
    clicked: count('Messages with a link that was followed, however often.'),
    unsubscribed: count('Messages through which a recipient unsubscribed.'),
    open_rate: rate('`opened` divided by `delivered`.'),
    click_rate: rate('`clicked` divided by `delivered`.'),
    bounce_rate: rate('`bounced` divided by `sent`.'),
    complaint_rate: rate('`complained` divided by `delivered`.'),
    unsubscribe_rate: rate('`unsubscribed` divided by `delivered`.'),
  })
  .meta({ id: 'AnalyticsRow', examples: [exampleRow] })
export type AnalyticsRow = z.output<typeof AnalyticsRow>

export const Analytics = z
  .strictObject({
    group_by: z.enum(['job', 'variant']).nullable().describe('The `group_by` of the request, or `null`.'),
    days: z.int().describe('The number of days.'),
    from: z.iso.datetime().describe('The start of the first day.'),
    to: z.iso.datetime().describe('The time of the request.'),
    data: z
      .array(AnalyticsRow)
      .describe('By day, the oldest first; by job, the newest first and messages of no job last.'),
  })
  .meta({
    id: 'Analytics',
    examples: [
      {
        group_by: null,
        days: 1,
        from: '2026-01-15T00:00:00.000Z',
        to: '2026-01-15T12:00:00.000Z',
        data: [exampleRow],
      },
    ],
  })
export type Analytics = z.output<typeof Analytics>
