import { password } from '../../../strings/account.ts'
import { Page } from '../../../ui/templates.tsx'
import { PasswordForm } from './password-form.tsx'
import { SecondFactor } from './second-factor.tsx'

const PasswordPage = () => (
  <Page title={password.title} width="form">
    <PasswordForm />
    <SecondFactor />
  </Page>
)

export default PasswordPage
