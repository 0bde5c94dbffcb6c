import type { ReactNode } from 'react'
import type { SsoSettings } from '../../../parts/sso-settings.ts'
import { sso } from '../../../strings/sso.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt className="text-muted text-xs">{name}</dt>
    <dd className="break-words">{children}</dd>
  </div>
)

export const Summary = ({ settings }: { settings: SsoSettings }) => {
  const { protocol, email_domains, tested, enforced, last_login_at } = settings
  const verified = email_domains.filter((one) => one.verified).map(({ domain }) => domain)
  return (
    <>
      <h2 className="font-semibold">{sso.summary}</h2>
      <dl className="mt-3 flex flex-col gap-3">
        <Fact name={sso.protocol}>{protocol === null ? sso.notSetUp : protocol === 'saml' ? sso.saml : sso.oidc}</Fact>
        {protocol !== null && (
          <Fact name={sso.provider}>
            <span className="break-all font-mono text-xs">{settings.idp_entity_id ?? settings.oidc_issuer}</span>
          </Fact>
        )}
        {settings.idp_certificates.map(({ fingerprint_sha256, expires_at }) => (
          <Fact key={fingerprint_sha256} name={sso.certificate}>
            {expires_at.slice(0, 10)}
          </Fact>
        ))}
        <Fact name={sso.domains}>{verified.length === 0 ? '–' : verified.join(', ')}</Fact>
        <Fact name={sso.state}>
          <span className="flex flex-col">
            <StatusDot tone={tested ? 'ok' : 'neutral'}>{tested ? sso.tested : sso.untested}</StatusDot>
            <StatusDot tone={enforced ? 'ok' : 'neutral'}>{enforced ? sso.enforced : sso.notEnforced}</StatusDot>
          </span>
        </Fact>
        <Fact name={sso.lastLogin}>
          <RelativeTime at={last_login_at} />
        </Fact>
      </dl>
    </>
  )
}
