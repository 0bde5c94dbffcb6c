/** `tidings ops dlt set`: records the status that an operator's portal shows for a DLT registration. */
import { makeAppendEvents } from '../../journal/events/append-events.ts'
import { OperatorFault } from '../../platform/ground/operator-fault.ts'
import { type DltRow, dltKindOf, isDltTemplate } from '../../senders/sms/dlt/dlt-status.ts'
import { makeSetDlt } from '../../senders/sms/dlt/set-dlt.ts'
import { asLines, type Context, existing, type Options, optionText, print, required } from './ops-context.ts'
import { opsUsage } from './usage.ts'

const statuses = ['submitted', 'approved', 'rejected'] as const
type Status = (typeof statuses)[number]

const statusFrom = (options: Options): Status => {
  const given = required(options, 'status')
  const status = statuses.find((name) => name === given)
  if (!status) throw new OperatorFault(`--status must be one of ${statuses.join(', ')}.`)
  return status
}

const templateIdFrom = (options: Options, id: string, status: Status): string | undefined => {
  const templateId = optionText(options, 'template-id')
  if (templateId === undefined) return undefined
  if (dltKindOf(id) !== 'dltTemplate' || status !== 'approved') {
    throw new OperatorFault('--template-id is only for a template that is approved.')
  }
  if (!/^\d{19}$/.test(templateId)) throw new OperatorFault('--template-id must have 19 digits.')
  return templateId
}

const reasonFrom = (options: Options, status: Status): string | undefined => {
  const reason = optionText(options, 'reason')
  if (reason !== undefined && status !== 'rejected')
    throw new OperatorFault('--reason is only for a rejected registration.')
  return reason?.slice(0, 1_000)
}

const show = (row: DltRow) => ({
  id: row.id,
  status: row.status,
  ...(isDltTemplate(row) && { provider_template_id: row.provider_template_id }),
  rejection_reason: row.rejection_reason,
  updated_at: row.updated_at.toISOString(),
})

export const setDltStatus = async (context: Context, orgId: string, id: string | undefined): Promise<void> => {
  const { db, clock, audit, options } = context
  if (id === undefined || !dltKindOf(id))
    throw new OperatorFault(`A DLT id (dle_…, dlh_… or dlt_…) is required.\n\n${opsUsage}`)
  const status = statusFrom(options)
  const templateId = templateIdFrom(options, id, status)
  const reason = reasonFrom(options, status)
  const operator = required(options, 'operator')
  await existing(db, orgId)
  // Not announced: the worker polls for events, and this process ends.
  const appendEvents = makeAppendEvents({ clock, announce: () => undefined })
  const set = makeSetDlt({ db, clock, audit, appendEvents })
  const done = await set(orgId, id, { status, templateId, reason, operator })
  if (!done) throw new OperatorFault(`Org ${orgId} has no DLT registration ${id}.`)
  const shown = show(done.row)
  print(context, shown, asLines(shown))
}
