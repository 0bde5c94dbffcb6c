import type { StepProps } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { Section } from '../../../../ui/templates.tsx'
import { OidcForm } from './oidc-form.tsx'
import { SamlForm } from './saml-form.tsx'

export const ProviderStep = ({ settings, protocol, goTo }: StepProps) => (
  <Section title={sso.providerTitle} description={settings.protocol === null ? undefined : sso.replaces}>
    {protocol === 'saml' ? (
      <SamlForm onSaved={() => goTo('domains')} />
    ) : (
      <OidcForm settings={settings} onSaved={() => goTo('domains')} />
    )}
  </Section>
)
