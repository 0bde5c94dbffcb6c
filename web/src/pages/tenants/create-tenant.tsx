import { api, unwrap } from '../../api/client.ts'
import { tenants } from '../../strings/tenants.ts'
import { FormDialog } from '../../ui/save-form.tsx'
import { fieldsOf, TextField } from '../../ui/text-field.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { useSave } from '../../ui/use-save.ts'

type Props = { open: boolean; onClose: () => void; onCreated: (id: string) => void }

export const CreateTenant = ({ open, onClose, onCreated }: Props) => {
  const draft = useDraft('tenant', { name: '', slug: '', external_ref: '' })
  const { name, slug, external_ref } = draft.value
  const form = useSave(
    () => {
      const body = { name, ...(slug && { slug }), ...(external_ref && { external_ref }) }
      return unwrap(api.POST('/api/internal/tenants', { body }))
    },
    {
      message: (tenant) => tenants.created(tenant.name),
      done: (tenant) => {
        draft.forget()
        onCreated(tenant.id)
      },
      refreshes: [['tenants']],
    },
  )
  const field = fieldsOf(draft.value, draft.change, form.fault)
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title={tenants.create}
      description={tenants.createHelp}
      onSubmit={form.save}
      form={form}
      gate="requireOwnerSession"
      action={tenants.create}
    >
      <TextField label={tenants.name} {...field('name')} />
      <TextField label={tenants.ref} optional help={tenants.refHelp} {...field('external_ref')} />
      <TextField label={tenants.slug} optional help={tenants.slugHelp} {...field('slug')} />
    </FormDialog>
  )
}
