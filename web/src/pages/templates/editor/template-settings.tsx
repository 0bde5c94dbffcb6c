import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { Template } from '../../../parts/template-data.ts'
import { editor, templates } from '../../../strings/templates.ts'
import { DangerSection } from '../../../ui/confirm-dialog.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Section } from '../../../ui/templates.tsx'
import { TextField } from '../../../ui/text-field.tsx'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import { useSave } from '../../../ui/use-save.ts'
import { keepDraft } from './content.ts'

type Props = { template: Template; onSaved: (template: Template) => void }

const Rename = ({ template: { id, slug }, onSaved }: Props) => {
  const [typed, setTyped] = useState(slug)
  const form = useSave(
    () => unwrap(api.PATCH('/api/internal/templates', { params: { query: { id } }, body: { slug: typed } })),
    { message: editor.renamed(typed), done: onSaved },
  )
  return (
    <Section title={editor.rename} description={editor.renameHelp}>
      <SaveForm
        label={editor.rename}
        onSubmit={form.save}
        form={form}
        gate="requireDeveloperSession"
        disabled={typed === slug}
        look="secondary"
        action={editor.rename}
      >
        <TextField
          label={templates.slug}
          help={templates.slugHelp}
          error={form.fault('slug')}
          value={typed}
          maxLength={64}
          onText={setTyped}
        />
      </SaveForm>
    </Section>
  )
}

const Deletion = ({ template: { id, slug } }: { template: Template }) => {
  const client = useQueryClient()
  const navigate = useNavigateFromHere()
  const remove = () => unwrap(api.DELETE('/api/internal/templates', { params: { query: { id } } }))
  return (
    <DangerSection
      help={editor.deleteHelp}
      gate="requireDeveloperSession"
      title={editor.deleteTitle(slug)}
      action={editor.delete}
      typed={slug}
      onConfirm={remove}
      message={editor.deleted(slug)}
      done={async () => {
        keepDraft(id, undefined)
        await client.resetQueries({ queryKey: ['templates', 'list'] })
        await navigate({ to: '/templates' })
      }}
    />
  )
}

export const TemplateSettings = (props: Props) => (
  <>
    <Rename {...props} />
    <Deletion template={props.template} />
  </>
)
