import { type SsoSettings, usePutSso } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { ui } from '../../../../strings/ui.ts'
import { StatusDot } from '../../../../ui/badge.tsx'
import { ConfirmButton } from '../../../../ui/confirm-dialog.tsx'
import { Section } from '../../../../ui/templates.tsx'

/** What the service would refuse it for. */
const missing = ({ tested, email_domains }: SsoSettings): string[] => [
  ...(tested ? [] : [sso.needsTest]),
  ...(email_domains.some(({ verified }) => verified) ? [] : [sso.needsDomain]),
]

export const Enforcement = ({ settings }: { settings: SsoSettings }) => {
  const { enforced } = settings
  const put = usePutSso()
  const reasons = enforced ? [] : missing(settings)
  const confirm = () => put({ enforced: !enforced })
  return (
    <Section
      title={sso.enforceTitle}
      description={sso.enforceHelp}
      actions={
        <ConfirmButton
          gate="requireOwnerSession"
          reason={reasons[0]}
          title={enforced ? sso.stopConfirm : sso.enforceConfirm}
          action={enforced ? sso.stopEnforcing : sso.enforce}
          danger={!enforced}
          onConfirm={confirm}
          message={ui.saved}
        >
          {enforced ? sso.stopEffect : sso.enforceEffect}
          {!enforced && settings.members_outside_domains > 0 && (
            <p className="mt-2 font-medium text-text">{sso.outsideDomains(settings.members_outside_domains)}</p>
          )}
        </ConfirmButton>
      }
    >
      <StatusDot tone={enforced ? 'ok' : 'neutral'}>{enforced ? sso.enforced : sso.notEnforced}</StatusDot>
      {reasons.length > 0 && (
        <ul className="mt-2 list-disc pl-5 text-muted text-sm">
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
    </Section>
  )
}
