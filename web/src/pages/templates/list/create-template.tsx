import { api, unwrap } from '../../../api/client.ts'
import type { Channel } from '../../../parts/template-data.ts'
import { templates } from '../../../strings/templates.ts'
import { RadioGroup } from '../../../ui/check-group.tsx'
import { FormDialog } from '../../../ui/save-form.tsx'
import { optionsOf } from '../../../ui/select.tsx'
import { TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import { useSave } from '../../../ui/use-save.ts'

const choices = optionsOf(templates.channels)

export const CreateTemplate = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const navigate = useNavigateFromHere()
  const draft = useDraft('template', { slug: '', channel: 'email' as Channel })
  const { slug, channel } = draft.value
  const form = useSave(
    () => {
      const body = { slug, channel, ...templates.starters[channel] }
      return unwrap(api.POST('/api/internal/templates', { body }))
    },
    {
      message: templates.created(slug),
      done: async ({ id }) => {
        draft.forget()
        await navigate({ to: `/templates/${id}` })
      },
      refreshes: [['templates', 'list']],
    },
  )
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title={templates.create}
      description={templates.createHelp}
      onSubmit={form.save}
      form={form}
      gate="requireDeveloperSession"
      action={templates.create}
    >
      <RadioGroup
        legend={templates.channel}
        choices={choices}
        value={channel}
        onValue={(value) => draft.change({ channel: value as Channel })}
      />
      <TextField
        label={templates.slug}
        help={templates.slugHelp}
        error={form.fault('slug')}
        value={slug}
        placeholder="welcome"
        maxLength={64}
        onText={(text) => draft.change({ slug: text })}
      />
    </FormDialog>
  )
}
