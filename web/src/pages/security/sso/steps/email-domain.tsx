import { api, unwrap } from '../../../../api/client.ts'
import { type SsoSettings, ssoQuery } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { StatusDot } from '../../../../ui/badge.tsx'
import { Button } from '../../../../ui/button.tsx'
import { Copyable } from '../../../../ui/copy-button.tsx'
import { ErrorNote } from '../../../../ui/error-note.tsx'
import { toast } from '../../../../ui/toasts.tsx'
import { useSave } from '../../../../ui/use-save.ts'

type Domain = SsoSettings['email_domains'][number]

const TxtRecord = ({ domain: { txt_name, txt_value } }: { domain: Domain }) => (
  <dl className="grid gap-x-4 gap-y-1 rounded-md bg-surface p-3 sm:grid-cols-[60px_minmax(0,1fr)]">
    <dt className="text-muted text-xs leading-6">{sso.record}</dt>
    <dd className="font-mono text-sm">{sso.recordType}</dd>
    <dt className="text-muted text-xs leading-6">{sso.name}</dt>
    <dd className="flex min-w-0">
      <Copyable text={txt_name} />
    </dd>
    <dt className="text-muted text-xs leading-6">{sso.value}</dt>
    <dd className="flex min-w-0">
      <Copyable text={txt_value} />
    </dd>
  </dl>
)

/** A domain with the record that proves it, until it is verified. */
export const EmailDomain = ({ domain, onRemove }: { domain: Domain; onRemove: () => void }) => {
  const form = useSave(
    () => {
      const body = { domain: domain.domain }
      return unwrap(api.POST('/api/internal/sso/domains/verify', { body }))
    },
    {
      done: ({ verified }) => {
        if (verified) toast(sso.nowVerified(domain.domain))
      },
      refreshes: [ssoQuery.queryKey],
    },
  )
  return (
    <article aria-label={domain.domain} className="flex flex-col gap-3 rounded-md border p-3">
      <header className="flex flex-wrap items-center justify-between gap-2">
        <div className="min-w-0">
          <h3 className="break-all font-medium text-sm">{domain.domain}</h3>
          <StatusDot tone={domain.verified ? 'ok' : 'warn'}>
            {domain.verified ? sso.verified : sso.unverified}
          </StatusDot>
        </div>
        <div className="flex gap-2">
          {!domain.verified && (
            <Button size="small" busy={form.busy} gate="requireOwnerSession" onClick={() => form.save()}>
              {sso.verify}
            </Button>
          )}
          <Button size="small" look="quiet" gate="requireOwnerSession" onClick={onRemove}>
            {sso.remove}
          </Button>
        </div>
      </header>
      {!domain.verified && (
        <>
          <p className="text-muted text-sm">{sso.publish}</p>
          <TxtRecord domain={domain} />
        </>
      )}
      <ErrorNote error={form.rest} />
    </article>
  )
}
