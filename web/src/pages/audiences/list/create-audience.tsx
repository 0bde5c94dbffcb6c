import { api, unwrap } from '../../../api/client.ts'
import { audiences } from '../../../strings/audiences.ts'
import { FormDialog } from '../../../ui/save-form.tsx'
import { fieldsOf, TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import { useSave } from '../../../ui/use-save.ts'

export const CreateAudience = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const navigate = useNavigateFromHere()
  const draft = useDraft('audience', { name: '', slug: '' })
  const { name, slug } = draft.value
  const form = useSave(
    () => {
      const body = { name, ...(slug && { slug }) }
      return unwrap(api.POST('/api/internal/audiences', { body }))
    },
    {
      message: (audience) => audiences.created(audience.name),
      done: async (audience) => {
        draft.forget()
        await navigate({ to: `/audiences/${audience.id}` })
      },
      refreshes: [['audiences']],
    },
  )
  const field = fieldsOf(draft.value, draft.change, form.fault)
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title={audiences.create}
      description={audiences.createHelp}
      onSubmit={form.save}
      form={form}
      gate="requireDeveloperSession"
      action={audiences.create}
    >
      <TextField label={audiences.name} {...field('name')} />
      <TextField label={audiences.slug} optional help={audiences.slugHelp} {...field('slug')} />
    </FormDialog>
  )
}
