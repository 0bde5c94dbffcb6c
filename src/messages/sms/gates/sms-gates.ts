import type { Clock } from '../../../ground/clock.ts'
import { invalid } from '../../../ground/errors.ts'
import type { SmsGeo } from '../../../orgs/sms-geo.ts'
import type { ResolveDlt } from '../../../senders/resolve-dlt.ts'
import type { SmsSenders } from '../../../senders/sms-senders.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Gate } from '../../draft.ts'
import { staysScheduled } from '../../schedule.ts'
import { lengthOf, maxBodyLength } from '../shapes.ts'
import type { SmsDraft } from '../sms-draft.ts'
import { allowlistGate, dltGate, highCostGate } from './destination-gates.ts'
import { smsSenderGate } from './sms-sender-gate.ts'

const smsScheduleGate = (clock: Clock): Gate<SmsDraft> => ({
  name: 'schedule',
  at: ['single'],
  check: (draft) => {
    if (!staysScheduled(draft, clock)) draft.local = null
  },
})

export const assertRenderedBody = (body: string): void => {
  const length = lengthOf(body)
  if (length === 0) throw invalid(['body'], 'too_small', 'The template renders to an empty body.')
  if (length > maxBodyLength) {
    throw invalid(['body'], 'too_big', `The template renders to more than ${maxBodyLength} characters.`)
  }
}

/** Renders the template, unless the request has a body of its own. The schema does not see a rendered body. */
const smsTemplateGate = (templates: RenderTemplates): Gate<SmsDraft> => ({
  name: 'template',
  at: ['single'],
  check: async (draft) => {
    if (!draft.template) return
    const given = draft.body === '' ? {} : { text: draft.body }
    const { text } = await templates.render(draft.by, { ...draft.template, channel: 'sms', given })
    draft.body = text ?? ''
    assertRenderedBody(draft.body)
  },
})

export type SmsGateNeeds = {
  clock: Clock
  templates: RenderTemplates
  geo: SmsGeo
  /** Null lifts the DLT rules. */
  resolveDlt: ResolveDlt | null
  smsSenders: SmsSenders
}

/** The gates of a text message, in order. The suppression check and the usage limits follow, in one statement. */
export const smsGates = (needs: SmsGateNeeds): readonly Gate<SmsDraft>[] => [
  smsScheduleGate(needs.clock),
  smsTemplateGate(needs.templates),
  highCostGate,
  allowlistGate(needs.geo),
  ...(needs.resolveDlt ? [dltGate(needs.resolveDlt)] : []),
  smsSenderGate(needs.smsSenders),
]
