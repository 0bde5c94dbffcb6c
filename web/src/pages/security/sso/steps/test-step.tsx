import { useQuery } from '@tanstack/react-query'
import { type StepProps, ssoQuery } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { StatusDot } from '../../../../ui/badge.tsx'
import { Button, buttonClasses } from '../../../../ui/button.tsx'
import { Copyable } from '../../../../ui/copy-button.tsx'
import { Section } from '../../../../ui/templates.tsx'

const back = encodeURIComponent('/settings/sso?step=test')

export const TestStep = ({ settings, goTo }: StepProps) => {
  const { protocol, tested, sp } = settings
  // A sign-in in another window shows here by itself.
  useQuery({ ...ssoQuery, refetchInterval: tested ? false : 3_000 })
  if (protocol === null) {
    return (
      <Section title={sso.testTitle} description={sso.setUpFirst}>
        <Button onClick={() => goTo('provider')}>{sso.steps.provider}</Button>
      </Section>
    )
  }
  return (
    <Section title={sso.testTitle} description={sso.testHelp}>
      <div className="flex flex-col items-start gap-4">
        <StatusDot tone={tested ? 'ok' : 'warn'}>{tested ? sso.tested : sso.untested}</StatusDot>
        <div className="w-full min-w-0">
          <div className="text-muted text-xs">{sso.loginUrl}</div>
          <div className="flex min-w-0">
            <Copyable text={sp.login_url} />
          </div>
        </div>
        <div className="flex flex-wrap gap-2">
          <a
            href={`${new URL(sp.login_url).pathname}${new URL(sp.login_url).search}&redirect_to=${back}`}
            className={buttonClasses(tested ? 'secondary' : 'primary')}
          >
            {sso.testHere}
          </a>
          {tested && (
            <Button look="primary" onClick={() => goTo('rules')}>
              {sso.next}
            </Button>
          )}
        </div>
      </div>
    </Section>
  )
}
