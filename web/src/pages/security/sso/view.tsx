import { useQuery } from '@tanstack/react-query'
import { type Protocol, type SsoSettings, ssoQuery } from '../../../parts/sso-settings.ts'
import { sso } from '../../../strings/sso.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { PageSkeleton } from '../../../ui/skeleton.tsx'
import { Page, Wizard } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { DomainsStep } from './steps/domains-step.tsx'
import { ProviderStep } from './steps/provider-step.tsx'
import { RulesStep } from './steps/rules-step.tsx'
import { ServiceStep } from './steps/service-step.tsx'
import { TestStep } from './steps/test-step.tsx'
import { Summary } from './summary.tsx'

const views = {
  service: ServiceStep,
  provider: ProviderStep,
  domains: DomainsStep,
  test: TestStep,
  rules: RulesStep,
}

type Step = keyof typeof views
const order = Object.keys(views) as Step[]

const isDone = ({ protocol, email_domains, tested, enforced }: SsoSettings): Record<Step, boolean> => ({
  service: protocol !== null,
  provider: protocol !== null,
  domains: email_domains.some(({ verified }) => verified),
  test: tested,
  rules: enforced,
})

const SsoPage = () => {
  const [{ step, protocol: chosen }, change] = useFilters({ step: 'service', protocol: '' })
  const { data: settings, error } = useQuery(ssoQuery)
  if (error) {
    return (
      <Page title={sso.title}>
        <ErrorNote error={error} />
      </Page>
    )
  }
  if (!settings) return <PageSkeleton />
  const protocol = (chosen || settings.protocol || 'saml') as Protocol
  const current = order.find((known) => known === step) ?? 'service'
  const View = views[current]
  const done = isDone(settings)
  const query = chosen ? `&protocol=${protocol}` : ''
  const steps = order.map((id) => ({
    id,
    title: sso.steps[id],
    done: done[id],
    href: `/settings/sso?step=${id}${query}`,
  }))
  return (
    <Page title={sso.title} description={sso.description}>
      <Wizard steps={steps} current={current} summary={<Summary settings={settings} />}>
        <View
          settings={settings}
          protocol={protocol}
          onProtocol={(now: Protocol) => change({ protocol: now })}
          goTo={(to: string) => change({ step: to })}
        />
      </Wizard>
    </Page>
  )
}

export default SsoPage
