import { useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { audiences } from '../../../strings/audiences.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Form } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'

export const CreateAudience = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const client = useQueryClient()
  const navigate = useNavigateFromHere()
  const draft = useDraft('audience', { name: '', slug: '' })
  const form = useSubmit()
  const { name, slug } = draft.value
  const create = () =>
    form.submit(async () => {
      const body = { name, ...(slug && { slug }) }
      const audience = await unwrap(api.POST('/api/internal/audiences', { body }))
      toast(audiences.created(audience.name))
      draft.forget()
      void client.invalidateQueries({ queryKey: ['audiences'] })
      await navigate({ to: `/audiences/${audience.id}` as never })
    })
  return (
    <Dialog open={open} onClose={onClose} title={audiences.create} description={audiences.createHelp}>
      <Form
        label={audiences.create}
        onSubmit={create}
        error={form.rest}
        actions={
          <>
            <Button type="submit" look="primary" gate="requireDeveloperSession" busy={form.busy}>
              {audiences.create}
            </Button>
            <Button onClick={onClose}>{ui.cancel}</Button>
          </>
        }
      >
        <Field label={audiences.name} error={form.fault('name')}>
          <Input value={name} onChange={(event) => draft.change({ name: event.target.value })} />
        </Field>
        <Field label={audiences.slug} optional help={audiences.slugHelp} error={form.fault('slug')}>
          <Input value={slug} onChange={(event) => draft.change({ slug: event.target.value })} />
        </Field>
      </Form>
    </Dialog>
  )
}
