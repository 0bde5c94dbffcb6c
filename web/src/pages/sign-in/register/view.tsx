import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { PublicPage, textLink } from '../../../parts/sign-in/public-page.tsx'
import { signIn } from '../../../strings/sign-in.ts'
import { RegisterForm } from './register-form.tsx'
import { VerifyForm } from './verify-form.tsx'

const RegisterPage = () => {
  const { invite, email = '' } = useSearch({ strict: false }) as Record<string, string | undefined>
  const [registered, setRegistered] = useState<string>()
  if (registered) {
    return (
      <PublicPage title={signIn.verifyTitle} description={signIn.codeSent(registered)}>
        <VerifyForm email={registered} />
      </PublicPage>
    )
  }
  return (
    <PublicPage
      title={signIn.registerTitle}
      footer={
        <>
          {signIn.haveAccount}{' '}
          <Link to="/login" className={textLink}>
            {signIn.submit}
          </Link>
        </>
      }
    >
      <RegisterForm invite={invite} email={email} onRegistered={setRegistered} />
    </PublicPage>
  )
}

export default RegisterPage
