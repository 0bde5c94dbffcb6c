/** The steps of a send, in order, and what makes one done. */
import { type Blast, parsedJson, subjectsOf } from './blast-draft.ts'

export const stepOrder = ['template', 'sender', 'variables', 'subjects', 'schedule', 'review'] as const
export type StepId = (typeof stepOrder)[number]

export type StepProps = { blast: Blast; change: (part: Partial<Blast>) => void }

const isWhole = (text: string): boolean => /^\d{1,4}$/.test(text)

/** The step that still misses something, if there is one. The service judges the values themselves. */
export const doneSteps = (blast: Blast): Record<StepId, boolean> => {
  const subjects = subjectsOf(blast)
  const winner = !blast.winner || (isWhole(blast.testPercent) && isWhole(blast.waitMinutes))
  return {
    template: blast.template !== '',
    sender: blast.from.trim() !== '',
    variables: blast.template !== '' && parsedJson(blast.json) !== undefined,
    subjects: blast.template !== '' && subjects.length !== 1 && subjects.length <= 5 && winner,
    schedule: blast.template !== '' && isWhole(blast.ramp) && (!blast.later || blast.localTime !== ''),
    review: false,
  }
}
