import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { signIn } from '../../strings/sign-in.ts'
import { Button, buttonClasses } from '../../ui/button.tsx'
import { TextField } from '../../ui/text-field.tsx'
import { useSave } from '../../ui/use-save.ts'
import { PublicForm } from './public-page.tsx'
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
  const form = useSave(
    () => {
      const body = { email, password, ...(redirectTo && { redirect_to: redirectTo }) }
      return unwrap(api.POST('/api/auth/login', { body }))
    },
    { done: (required) => onCode(required.challenge_id, required.sent_to, email) },
  )
  return (
    <>
      <PublicForm
        onSubmit={form.save}
        form={form}
        error={<SignInError error={form.rest} redirectTo={redirectTo} />}
        action={signIn.submit}
      >
        <TextField
          label={signIn.email}
          error={form.fault('email')}
          type="email"
          name="email"
          autoComplete="username"
          autoFocus
          value={email}
          onText={setEmail}
        />
        <TextField
          label={signIn.password}
          error={form.fault('password')}
          type="password"
          name="password"
          autoComplete="current-password"
          value={password}
          onText={setPassword}
        />
      </PublicForm>
      <Button look="quiet" onClick={onSso}>
        {signIn.withSso}
      </Button>
      <Providers redirectTo={redirectTo} />
    </>
  )
}
