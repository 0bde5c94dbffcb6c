import { useQueryClient } from '@tanstack/react-query'
import { suppressions } from '../../strings/suppressions.ts'
import { ui } from '../../strings/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Input } from '../../ui/input.tsx'
import { Form } from '../../ui/templates.tsx'
import { toast } from '../../ui/toasts.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { useSubmit } from '../sign-in/use-submit.ts'
import { addSuppression } from './suppression-data.ts'

export const AddSuppression = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const client = useQueryClient()
  const draft = useDraft('suppression', { value: '', tenant: '' })
  const form = useSubmit()
  const add = () =>
    form.submit(async () => {
      const { value } = await addSuppression(draft.value.value, draft.value.tenant || null)
      toast(suppressions.addedToast(value))
      draft.forget()
      onClose()
      await client.invalidateQueries({ queryKey: ['suppressions'] })
    })
  return (
    <Dialog open={open} onClose={onClose} title={suppressions.add} description={suppressions.addHelp}>
      <Form
        label={suppressions.add}
        onSubmit={add}
        error={form.rest}
        actions={
          <>
            <Button type="submit" look="primary" gate="requireDeveloperSession" busy={form.busy}>
              {suppressions.add}
            </Button>
            <Button onClick={onClose}>{ui.cancel}</Button>
          </>
        }
      >
        <Field label={suppressions.value} help={suppressions.addressHelp} error={form.fault('value')}>
          <Input
            value={draft.value.value}
            maxLength={1_000}
            autoComplete="off"
            onChange={(event) => draft.change({ value: event.target.value })}
          />
        </Field>
        <Field label={ui.tenantId} help={suppressions.tenantHelp} error={form.fault('tenant_id')} optional>
          <Input value={draft.value.tenant} onChange={(event) => draft.change({ tenant: event.target.value })} />
        </Field>
      </Form>
    </Dialog>
  )
}
