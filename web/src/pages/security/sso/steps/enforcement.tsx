import { useState } from 'react'
import { sso } from '../../../../strings/sso.ts'
import { ui } from '../../../../strings/ui.ts'
import { StatusDot } from '../../../../ui/badge.tsx'
import { Button } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { Section } from '../../../../ui/templates.tsx'
import { toast } from '../../../../ui/toasts.tsx'
import { type SsoSettings, usePutSso } from '../settings.ts'

/** What the service would refuse it for. */
const missing = ({ tested, email_domains }: SsoSettings): string[] => [
  ...(tested ? [] : [sso.needsTest]),
  ...(email_domains.some(({ verified }) => verified) ? [] : [sso.needsDomain]),
]

export const Enforcement = ({ settings }: { settings: SsoSettings }) => {
  const { enforced } = settings
  const [asked, setAsked] = useState(false)
  const put = usePutSso()
  const reasons = enforced ? [] : missing(settings)
  const confirm = async () => {
    await put({ enforced: !enforced })
    toast(ui.saved)
  }
  return (
    <Section
      title={sso.enforceTitle}
      description={sso.enforceHelp}
      actions={
        <Button gate="requireOwnerSession" reason={reasons[0]} onClick={() => setAsked(true)}>
          {enforced ? sso.stopEnforcing : sso.enforce}
        </Button>
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
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={enforced ? sso.stopConfirm : sso.enforceConfirm}
        action={enforced ? sso.stopEnforcing : sso.enforce}
        danger={!enforced}
        onConfirm={confirm}
      >
        {enforced ? sso.stopEffect : sso.enforceEffect}
        {!enforced && settings.members_outside_domains > 0 && (
          <p className="mt-2 font-medium text-text">{sso.outsideDomains(settings.members_outside_domains)}</p>
        )}
      </ConfirmDialog>
    </Section>
  )
}
