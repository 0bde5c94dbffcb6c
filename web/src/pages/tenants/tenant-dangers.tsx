import { useState } from 'react'
import { api, unwrap } from '../../api/client.ts'
import { tenants } from '../../strings/tenants.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { curl } from '../../ui/curl.ts'
import { Section } from '../../ui/templates.tsx'
import { toast } from '../../ui/toasts.tsx'
import { useSubmit } from '../sign-in/use-submit.ts'
import { type Tenant, useTenantRefresh } from './tenant-data.tsx'

export const ResumeTenant = ({ tenant: { id, name } }: { tenant: Tenant }) => {
  const refresh = useTenantRefresh()
  const form = useSubmit()
  const resume = () =>
    form.submit(async () => {
      const params = { path: { id } }
      await unwrap(api.PATCH('/api/internal/tenants/{id}', { params, body: { action: 'unsuspend' } }))
      toast(tenants.resumed(name))
      await refresh()
    })
  return (
    <Section
      title={tenants.statuses.suspended}
      description={`${tenants.suspendedHelp} ${tenants.resumeHelp}`}
      actions={
        <Button gate="requireOwnerSession" busy={form.busy} onClick={() => void resume()}>
          {tenants.resume}
        </Button>
      }
    />
  )
}

export const ArchiveTenant = ({ tenant: { id, name, slug } }: { tenant: Tenant }) => {
  const refresh = useTenantRefresh()
  const [asked, setAsked] = useState(false)
  const archive = async () => {
    await unwrap(api.DELETE('/api/internal/tenants/{id}', { params: { path: { id } } }))
    toast(tenants.archived(name))
    await refresh()
  }
  return (
    <>
      <Section
        danger
        title={tenants.archive}
        description={tenants.archiveHelp}
        actions={
          <Button look="danger" gate="requireOwnerSession" onClick={() => setAsked(true)}>
            {tenants.archive}
          </Button>
        }
      />
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={tenants.archiveTitle(name)}
        action={tenants.archive}
        typed={slug}
        onConfirm={archive}
      >
        {tenants.archiveHelp}
      </ConfirmDialog>
    </>
  )
}

/** What only an API key may do, as the requests that do it. */
export const TenantRequests = ({ tenant: { id } }: { tenant: Tenant }) => {
  const requests = [
    { title: tenants.readRequest, code: curl('GET', `/tenants/${id}`) },
    { title: tenants.suspendRequest, code: curl('POST', `/tenants/${id}/suspend`) },
    { title: tenants.restoreRequest, code: curl('POST', `/tenants/${id}/restore`) },
    { title: tenants.eraseRequest, code: curl('POST', `/tenants/${id}/erase`) },
  ]
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted text-sm">{tenants.byKey}</p>
      {requests.map(({ title, code }) => (
        <div key={title}>
          <h3 className="mb-1 font-medium text-sm">{title}</h3>
          <CodeBlock label={title} code={code} />
        </div>
      ))}
    </div>
  )
}
