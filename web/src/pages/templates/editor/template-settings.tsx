import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { editor, templates } from '../../../strings/templates.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Form, Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import type { Template } from '../template-data.ts'
import { keepDraft } from './content.ts'

type Props = { template: Template; onSaved: (template: Template) => void }

const Rename = ({ template: { id, slug }, onSaved }: Props) => {
  const form = useSubmit()
  const [typed, setTyped] = useState(slug)
  const rename = () =>
    form.submit(async () => {
      const params = { query: { id } }
      onSaved(await unwrap(api.PATCH('/api/internal/templates', { params, body: { slug: typed } })))
      toast(editor.renamed(typed))
    })
  return (
    <Section title={editor.rename} description={editor.renameHelp}>
      <Form
        label={editor.rename}
        onSubmit={rename}
        error={form.rest}
        actions={
          <Button type="submit" gate="requireDeveloperSession" busy={form.busy} disabled={typed === slug}>
            {editor.rename}
          </Button>
        }
      >
        <Field label={templates.slug} help={templates.slugHelp} error={form.fault('slug')}>
          <Input value={typed} maxLength={64} onChange={(event) => setTyped(event.target.value)} />
        </Field>
      </Form>
    </Section>
  )
}

const Deletion = ({ template: { id, slug } }: { template: Template }) => {
  const client = useQueryClient()
  const navigate = useNavigateFromHere()
  const [asked, setAsked] = useState(false)
  const remove = async () => {
    await unwrap(api.DELETE('/api/internal/templates', { params: { query: { id } } }))
    keepDraft(id, undefined)
    toast(editor.deleted(slug))
    await client.resetQueries({ queryKey: ['templates', 'list'] })
    await navigate({ to: '/templates' as never })
  }
  return (
    <>
      <Section
        danger
        title={editor.delete}
        description={editor.deleteHelp}
        actions={
          <Button look="danger" gate="requireDeveloperSession" onClick={() => setAsked(true)}>
            {editor.delete}
          </Button>
        }
      />
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={editor.deleteTitle(slug)}
        action={editor.delete}
        typed={slug}
        onConfirm={remove}
      >
        {editor.deleteHelp}
      </ConfirmDialog>
    </>
  )
}

export const TemplateSettings = (props: Props) => (
  <>
    <Rename {...props} />
    <Deletion template={props.template} />
  </>
)
