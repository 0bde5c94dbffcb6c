import type { Senders } from '../../../domains/sender.ts'
import type { Clock } from '../../../ground/clock.ts'
import type { FindSuppressed } from '../../../suppressions/find.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Links } from '../../../tracking/links.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../draft.ts'
import { fromGate } from './from.ts'
import { type FindMembers, sandboxGate } from './sandbox.ts'
import { scheduleGate } from './schedule.ts'
import { senderGate } from './sender.ts'
import { suppressionGate } from './suppression.ts'
import { contentGate, templateGate } from './template.ts'
import { unsubscribeGate } from './unsubscribe.ts'

export type EmailGateNeeds = {
  clock: Clock
  templates: RenderTemplates
  links: Links
  senders: Senders
  findSuppressed: FindSuppressed
  findMembers: FindMembers
}

/** The rules of an email in the order they are asked; what is counted comes after them, in one reservation. */
export const emailGates = (needs: EmailGateNeeds): readonly Gate<EmailDraft>[] => [
  fromGate,
  scheduleGate(needs.clock),
  templateGate(needs.templates),
  contentGate,
  unsubscribeGate(needs.links),
  senderGate(needs.senders),
  suppressionGate(needs.findSuppressed),
  sandboxGate(needs.findMembers),
]
