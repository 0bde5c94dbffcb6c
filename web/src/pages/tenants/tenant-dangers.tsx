import { api, unwrap } from '../../api/client.ts'
import { tenants } from '../../strings/tenants.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { DangerSection } from '../../ui/confirm-dialog.tsx'
import { curl } from '../../ui/curl.ts'
import { Section } from '../../ui/templates.tsx'
import { useSave } from '../../ui/use-save.ts'
import type { Tenant } from './tenant-data.tsx'

export const ResumeTenant = ({ tenant: { id, name } }: { tenant: Tenant }) => {
  const form = useSave(
    () => {
      const params = { path: { id } }
      return unwrap(api.PATCH('/api/internal/tenants/{id}', { params, body: { action: 'unsuspend' } }))
    },
    { message: tenants.resumed(name), refreshes: [['tenants']] },
  )
  return (
    <Section
      title={tenants.statuses.suspended}
      description={`${tenants.suspendedHelp} ${tenants.resumeHelp}`}
      actions={
        <Button gate="requireOwnerSession" busy={form.busy} onClick={() => form.save()}>
          {tenants.resume}
        </Button>
      }
    />
  )
}

export const ArchiveTenant = ({ tenant: { id, name, slug } }: { tenant: Tenant }) => {
  const archive = () => unwrap(api.DELETE('/api/internal/tenants/{id}', { params: { path: { id } } }))
  return (
    <DangerSection
      help={tenants.archiveHelp}
      gate="requireOwnerSession"
      title={tenants.archiveTitle(name)}
      action={tenants.archive}
      typed={slug}
      onConfirm={archive}
      message={tenants.archived(name)}
      refreshes={[['tenants']]}
    />
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
