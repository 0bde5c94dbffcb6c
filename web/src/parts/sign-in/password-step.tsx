import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button, buttonClasses } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { PublicForm } from '../public-page.tsx'
import { useSubmit } from '../use-submit.ts'
import { SignInError } from './sign-in-error.tsx'

const Providers = ({ redirectTo }: { redirectTo: string | undefined }) => {
  const { data } = useQuery({
    queryKey: ['sign-in-providers'],
    queryFn: () => unwrap(api.GET('/api/auth/providers')),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!data || data.data.length === 0) return null
  const query = redirectTo ? `?redirect_to=${encodeURIComponent(redirectTo)}` : ''
  return (
    <div className="flex flex-col gap-2">
      <div className="text-center text-muted text-xs">{signIn.or}</div>
      {data.data.map(({ id, name }) => (
        <a key={id} href={`/api/auth/${id}${query}`} className={buttonClasses('secondary')}>
          {signIn.with(name)}
        </a>
      ))}
    </div>
  )
}

type Props = {
  redirectTo: string | undefined
  onCode: (challengeId: string, sentTo: string, email: string) => void
  onSso: () => void
}

export const PasswordStep = ({ redirectTo, onCode, onSso }: Props) => {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      const body = { email, password, ...(redirectTo && { redirect_to: redirectTo }) }
      const required = await unwrap(api.POST('/api/auth/login', { body }))
      onCode(required.challenge_id, required.sent_to, email)
    })
  return (
    <>
      <PublicForm onSubmit={send}>
        <Field label={signIn.email} error={form.fault('email')}>
          <Input
            type="email"
            name="email"
            autoComplete="username"
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
        <Field label={signIn.password} error={form.fault('password')}>
          <Input
            type="password"
            name="password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Field>
        <SignInError error={form.rest} redirectTo={redirectTo} />
        <Button type="submit" look="primary" busy={form.busy}>
          {signIn.submit}
        </Button>
      </PublicForm>
      <Button look="quiet" onClick={onSso}>
        {signIn.withSso}
      </Button>
      <Providers redirectTo={redirectTo} />
    </>
  )
}
