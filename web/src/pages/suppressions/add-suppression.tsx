import { suppressions } from '../../strings/suppressions.ts'
import { ui } from '../../strings/ui.ts'
import { FormDialog } from '../../ui/save-form.tsx'
import { fieldsOf, TextField } from '../../ui/text-field.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { useSave } from '../../ui/use-save.ts'
import { addSuppression } from './suppression-data.ts'

export const AddSuppression = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const draft = useDraft('suppression', { value: '', tenant: '' })
  const form = useSave(() => addSuppression(draft.value.value, draft.value.tenant || null), {
    message: ({ value }) => suppressions.addedToast(value),
    done: () => {
      draft.forget()
      onClose()
    },
    refreshes: [['suppressions']],
  })
  const field = fieldsOf(draft.value, draft.change, form.fault)
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title={suppressions.add}
      description={suppressions.addHelp}
      onSubmit={form.save}
      form={form}
      gate="requireDeveloperSession"
      action={suppressions.add}
    >
      <TextField
        label={suppressions.value}
        help={suppressions.addressHelp}
        maxLength={1_000}
        autoComplete="off"
        {...field('value')}
      />
      <TextField label={ui.tenantId} help={suppressions.tenantHelp} optional {...field('tenant', 'tenant_id')} />
    </FormDialog>
  )
}
