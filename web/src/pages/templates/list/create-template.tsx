import { useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { templates } from '../../../strings/templates.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { RadioGroup } from '../../../ui/check-group.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Form } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import type { Channel } from '../template-data.ts'

const choices = Object.entries(templates.channels).map(([value, label]) => ({ value, label }))

export const CreateTemplate = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const client = useQueryClient()
  const navigate = useNavigateFromHere()
  const draft = useDraft('template', { slug: '', channel: 'email' as Channel })
  const form = useSubmit()
  const { slug, channel } = draft.value
  const create = () =>
    form.submit(async () => {
      const body = { slug, channel, ...templates.starters[channel] }
      const { id } = await unwrap(api.POST('/api/internal/templates', { body }))
      toast(templates.created(slug))
      draft.forget()
      void client.invalidateQueries({ queryKey: ['templates', 'list'] })
      await navigate({ to: `/templates/${id}` as never })
    })
  return (
    <Dialog open={open} onClose={onClose} title={templates.create} description={templates.createHelp}>
      <Form
        label={templates.create}
        onSubmit={create}
        error={form.rest}
        actions={
          <>
            <Button type="submit" look="primary" gate="requireDeveloperSession" busy={form.busy}>
              {templates.create}
            </Button>
            <Button onClick={onClose}>{ui.cancel}</Button>
          </>
        }
      >
        <RadioGroup
          legend={templates.channel}
          choices={choices}
          value={channel}
          onValue={(value) => draft.change({ channel: value as Channel })}
        />
        <Field label={templates.slug} help={templates.slugHelp} error={form.fault('slug')}>
          <Input
            value={slug}
            placeholder="welcome"
            maxLength={64}
            onChange={(event) => draft.change({ slug: event.target.value })}
          />
        </Field>
      </Form>
    </Dialog>
  )
}
