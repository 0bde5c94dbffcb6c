import { useQuery } from '@tanstack/react-query'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { organisation } from '../../../strings/settings.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Section } from '../../../ui/templates.tsx'
import { fieldsOf, TextField } from '../../../ui/text-field.tsx'
import { useFields } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'

type Policy = operations['getApiInternalOrgSessionPolicy']['responses'][200]['content']['application/json']

const textOf = (value: number | null): string => (value === null ? '' : String(value))
const isNumber = (text: string): boolean => /^\d*$/.test(text.trim())
const limitOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

const PolicyForm = ({ policy }: { policy: Policy }) => {
  const readOnly = useRefusal('requireOwnerSession') !== undefined
  const { value, change } = useFields({
    max_session_age_hours: textOf(policy.max_session_age_hours),
    max_sessions_per_user: textOf(policy.max_sessions_per_user),
  })
  const age = value.max_session_age_hours
  const count = value.max_sessions_per_user
  const form = useSave(
    () => {
      const body = { max_session_age_hours: limitOf(age), max_sessions_per_user: limitOf(count) }
      return unwrap(api.PATCH('/api/internal/org/session-policy', { body }))
    },
    { message: organisation.policySaved, refreshes: [['session-policy']] },
  )
  const { effective } = policy
  const field = fieldsOf(value, change, (name) =>
    isNumber(value[name as keyof typeof value]) ? form.fault(name) : organisation.wholeNumber,
  )
  const shared = { inputMode: 'numeric', readOnly } as const
  return (
    <SaveForm
      label={organisation.sessions}
      onSubmit={() => isNumber(age) && isNumber(count) && form.save()}
      form={form}
      gate="requireOwnerSession"
    >
      <TextField
        label={organisation.maxAge}
        help={organisation.maxAgeHelp}
        {...shared}
        {...field('max_session_age_hours')}
      />
      <TextField
        label={organisation.maxSessions}
        help={organisation.maxSessionsHelp}
        {...shared}
        {...field('max_sessions_per_user')}
      />
      <p className="text-muted text-sm">
        {organisation.effective(
          organisation.hours(effective.max_session_age_hours),
          organisation.count(effective.max_sessions_per_user),
        )}
      </p>
    </SaveForm>
  )
}

export const SessionPolicy = () => {
  const { data, error } = useQuery({
    queryKey: ['session-policy'],
    queryFn: () => unwrap(api.GET('/api/internal/org/session-policy')),
  })
  return (
    <Section title={organisation.sessions} description={organisation.sessionsHelp}>
      <ErrorNote error={error} />
      {data ? <PolicyForm policy={data} /> : !error && <Skeleton className="h-44 w-full max-w-md" />}
    </Section>
  )
}
