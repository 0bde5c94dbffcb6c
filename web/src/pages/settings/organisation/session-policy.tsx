import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { organisation } from '../../../strings/settings.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Form, Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useSubmit } from '../../sign-in/use-submit.ts'

type Policy = operations['getApiInternalOrgSessionPolicy']['responses'][200]['content']['application/json']

const textOf = (value: number | null): string => (value === null ? '' : String(value))
const isNumber = (text: string): boolean => /^\d*$/.test(text.trim())
const limitOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

const PolicyForm = ({ policy }: { policy: Policy }) => {
  const client = useQueryClient()
  const readOnly = useRefusal('requireOwnerSession') !== undefined
  const [age, setAge] = useState(textOf(policy.max_session_age_hours))
  const [count, setCount] = useState(textOf(policy.max_sessions_per_user))
  const form = useSubmit()
  const { effective } = policy
  const save = () => {
    if (!isNumber(age) || !isNumber(count)) return
    void form.submit(async () => {
      const body = { max_session_age_hours: limitOf(age), max_sessions_per_user: limitOf(count) }
      await unwrap(api.PATCH('/api/internal/org/session-policy', { body }))
      toast(organisation.policySaved)
      await client.invalidateQueries({ queryKey: ['session-policy'] })
    })
  }
  const faultOf = (text: string, field: string) => (isNumber(text) ? form.fault(field) : organisation.wholeNumber)
  return (
    <Form
      label={organisation.sessions}
      onSubmit={save}
      error={form.rest}
      actions={
        <Button type="submit" look="primary" gate="requireOwnerSession" busy={form.busy}>
          {ui.save}
        </Button>
      }
    >
      <Field label={organisation.maxAge} help={organisation.maxAgeHelp} error={faultOf(age, 'max_session_age_hours')}>
        <Input inputMode="numeric" value={age} readOnly={readOnly} onChange={(event) => setAge(event.target.value)} />
      </Field>
      <Field
        label={organisation.maxSessions}
        help={organisation.maxSessionsHelp}
        error={faultOf(count, 'max_sessions_per_user')}
      >
        <Input
          inputMode="numeric"
          value={count}
          readOnly={readOnly}
          onChange={(event) => setCount(event.target.value)}
        />
      </Field>
      <p className="text-muted text-sm">
        {organisation.effective(
          organisation.hours(effective.max_session_age_hours),
          organisation.count(effective.max_sessions_per_user),
        )}
      </p>
    </Form>
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
