import type { Protocol, SsoSettings, StepProps } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { Button } from '../../../../ui/button.tsx'
import { Copyable } from '../../../../ui/copy-button.tsx'
import { Section } from '../../../../ui/templates.tsx'
import { SelectField } from '../../../../ui/text-field.tsx'

const valuesFor = (protocol: Protocol, { sp }: SsoSettings): [string, string][] =>
  protocol === 'saml'
    ? [
        [sso.acsUrl, sp.acs_url],
        [sso.entityId, sp.entity_id],
        [sso.metadataUrl, sp.metadata_url],
      ]
    : [[sso.redirectUri, sp.redirect_uri]]

type Props = StepProps & { onProtocol: (protocol: Protocol) => void }

export const ServiceStep = ({ settings, protocol, onProtocol, goTo }: Props) => (
  <Section title={sso.serviceTitle} description={sso.serviceHelp}>
    <div className="flex flex-col gap-4">
      <SelectField
        label={sso.protocol}
        className="max-w-60"
        value={protocol}
        onValue={(value) => onProtocol(value as Protocol)}
        options={[
          { value: 'saml', label: sso.saml },
          { value: 'oidc', label: sso.oidc },
        ]}
      />
      <dl className="flex flex-col gap-3">
        {valuesFor(protocol, settings).map(([name, value]) => (
          <div key={name} className="min-w-0">
            <dt className="text-muted text-xs">{name}</dt>
            <dd className="flex min-w-0">
              <Copyable text={value} />
            </dd>
          </div>
        ))}
        {protocol === 'saml' && (
          <div>
            <dt className="text-muted text-xs">{sso.nameId}</dt>
            <dd className="text-sm">{sso.nameIdValue}</dd>
          </div>
        )}
      </dl>
      <div>
        <Button look="primary" onClick={() => goTo('provider')}>
          {sso.next}
        </Button>
      </div>
    </div>
  </Section>
)
