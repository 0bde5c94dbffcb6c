import { api, unwrap } from '../../api/client.ts'
import { tenants } from '../../strings/tenants.ts'
import { ui } from '../../strings/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Input } from '../../ui/input.tsx'
import { Form } from '../../ui/templates.tsx'
import { toast } from '../../ui/toasts.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { useSubmit } from '../sign-in/use-submit.ts'
import { useTenantRefresh } from './tenant-data.tsx'

type Props = { open: boolean; onClose: () => void; onCreated: (id: string) => void }

export const CreateTenant = ({ open, onClose, onCreated }: Props) => {
  const refresh = useTenantRefresh()
  const draft = useDraft('tenant', { name: '', slug: '', external_ref: '' })
  const form = useSubmit()
  const { name, slug, external_ref } = draft.value
  const create = () =>
    form.submit(async () => {
      const body = { name, ...(slug && { slug }), ...(external_ref && { external_ref }) }
      const tenant = await unwrap(api.POST('/api/internal/tenants', { body }))
      toast(tenants.created(tenant.name))
      draft.forget()
      onCreated(tenant.id)
      await refresh()
    })
  return (
    <Dialog open={open} onClose={onClose} title={tenants.create} description={tenants.createHelp}>
      <Form
        label={tenants.create}
        onSubmit={create}
        error={form.rest}
        actions={
          <>
            <Button type="submit" look="primary" gate="requireOwnerSession" busy={form.busy}>
              {tenants.create}
            </Button>
            <Button onClick={onClose}>{ui.cancel}</Button>
          </>
        }
      >
        <Field label={tenants.name} error={form.fault('name')}>
          <Input value={name} onChange={(event) => draft.change({ name: event.target.value })} />
        </Field>
        <Field label={tenants.ref} optional help={tenants.refHelp} error={form.fault('external_ref')}>
          <Input value={external_ref} onChange={(event) => draft.change({ external_ref: event.target.value })} />
        </Field>
        <Field label={tenants.slug} optional help={tenants.slugHelp} error={form.fault('slug')}>
          <Input value={slug} onChange={(event) => draft.change({ slug: event.target.value })} />
        </Field>
      </Form>
    </Dialog>
  )
}
