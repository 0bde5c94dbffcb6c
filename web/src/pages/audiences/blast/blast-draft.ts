/** What a person has chosen for a send, and the request that it becomes. */
import type { operations } from '../../../api/schema.gen.ts'
import { useDraft } from '../../../ui/use-draft.ts'

export type BlastBody = operations['postApiInternalAudiencesByIdSend']['requestBody']['content']['application/json']

const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

const emptyDraft = {
  channel: 'email' as 'email' | 'sms',
  template: '',
  from: '',
  dlt: '',
  variables: {} as Record<string, string>,
  json: '',
  subjects: '',
  trackOpens: true,
  trackClicks: true,
  winner: false,
  testPercent: '20',
  waitMinutes: '60',
  by: 'opened' as 'opened' | 'clicked',
  later: false,
  localTime: '',
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  ramp: '0',
  /** Another one after every change, so that a repeated click sends once and a changed message is another send. */
  key: '',
}

export type Blast = typeof emptyDraft

export const useBlast = (audienceId: string) => {
  const draft = useDraft<Blast>(`blast:${audienceId}`, emptyDraft)
  return {
    blast: draft.value,
    change: (part: Partial<Blast>) => draft.change({ ...part, key: newKey() }),
    forget: draft.forget,
  }
}

export const subjectsOf = ({ subjects, channel }: Blast): string[] =>
  channel === 'sms'
    ? []
    : subjects
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean)

/** Undefined when the text is not a JSON object. */
export const parsedJson = (json: string): Record<string, unknown> | undefined => {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

const emailPart = (blast: Blast): Partial<BlastBody> => {
  const subjects = subjectsOf(blast)
  return {
    track_opens: blast.trackOpens,
    track_clicks: blast.trackClicks,
    ...(subjects.length > 0 && { subject_variants: subjects }),
    ...(blast.winner &&
      subjects.length > 0 && {
        winner: { test_percent: Number(blast.testPercent), wait_minutes: Number(blast.waitMinutes), by: blast.by },
      }),
  }
}

/** Empty values are left out: the fields of contacts then fill them. */
const variablesOf = ({ variables, json }: Blast): Record<string, unknown> => ({
  ...Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== '')),
  ...parsedJson(json),
})

export const bodyOf = (blast: Blast): BlastBody => ({
  channel: blast.channel,
  from: blast.from.trim(),
  template: blast.template,
  variables: variablesOf(blast),
  ramp_minutes: Number(blast.ramp),
  ...(blast.channel === 'email' ? emailPart(blast) : blast.dlt && { dlt_template_id: blast.dlt }),
  ...(blast.later && { scheduled_local: blast.localTime, scheduled_at_tz: blast.zone }),
})

const placeholder = /\{\{\s*([\w$-]+(?:\.[\w$-]+)*)\s*\}\}/g
const ofContacts = /^(?:contact\..*|name|first_name|email|phone|this(?:\..*)?|else|unsubscribe_url)$/

/** The names in a template that contacts do not fill by themselves. */
export const variableNames = (parts: readonly (string | null)[]): string[] => {
  const found = parts.flatMap((part) => [...(part ?? '').matchAll(placeholder)].map(([, name = '']) => name))
  return [...new Set(found)].filter((name) => !ofContacts.test(name))
}
