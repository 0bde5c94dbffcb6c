import type { Senders } from '../../../domains/sender.ts'
import type { Clock } from '../../../ground/clock.ts'
import type { RenderTemplates } from '../../../templates/render.ts'
import type { Links } from '../../../tracking/links.ts'
import type { Gate } from '../../draft.ts'
import type { EmailDraft } from '../email-draft.ts'
import { fromGate } from './from-gate.ts'
import { type FindMembers, sandboxGate } from './sandbox-gate.ts'
import { scheduleGate } from './schedule-gate.ts'
import { senderGate } from './sender-gate.ts'
import { contentGate, templateGate } from './template-gate.ts'
import { unsubscribeGate } from './unsubscribe-gate.ts'

export type EmailGateNeeds = {
  clock: Clock
  templates: RenderTemplates
  links: Links
  senders: Senders
  findMembers: FindMembers
}

/** The gates of an email, in order. The suppression check, the late gates and the usage limits follow. */
export const emailGates = (needs: EmailGateNeeds): readonly Gate<EmailDraft>[] => [
  fromGate,
  scheduleGate(needs.clock),
  templateGate(needs.templates),
  contentGate,
  unsubscribeGate(needs.links),
  senderGate(needs.senders),
]

export const lateEmailGates = (needs: EmailGateNeeds): readonly Gate<EmailDraft>[] => [sandboxGate(needs.findMembers)]
