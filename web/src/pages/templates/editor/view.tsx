import { useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { readTemplate, type Template, useTemplate } from '../../../parts/template-data.ts'
import { readVariables, type Variables } from '../../../parts/template-variables.ts'
import { editor, templates } from '../../../strings/templates.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { PageSkeleton } from '../../../ui/skeleton.tsx'
import { Page } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'
import {
  type Content,
  changesIn,
  isChangedSince,
  keepDraft,
  makeContent,
  type Parts,
  partsOf,
  readDraft,
} from './content.ts'
import { PartsEditor } from './parts-editor.tsx'
import { PreviewPane } from './preview-pane.tsx'
import { type FoundProblem, problemsOf } from './problems.tsx'
import { SaveConflict } from './save-conflict.tsx'
import { TemplateSettings } from './template-settings.tsx'
import { TestSend } from './test-send.tsx'
import { usePreview } from './use-preview.ts'
import { VariablesField } from './variables-field.tsx'

const noProblems: readonly FoundProblem[] = []

type Props = { template: Template; onSaved: (template: Template) => void; onDiscard: () => void }

/** The variables of the preview. An invalid text keeps the last valid ones. */
const useVariables = (id: string) => {
  const draft = useDraft(`template-variables:${id}`, { text: '{}' })
  const read = useMemo(() => readVariables(draft.value.text), [draft.value.text])
  const [valid, setValid] = useState<Variables>(read.variables ?? {})
  const { variables } = read
  useEffect(() => {
    if (variables === undefined) return
    const timer = setTimeout(() => setValid(variables), 300)
    return () => clearTimeout(timer)
  }, [variables])
  return {
    text: draft.value.text,
    fault: read.fault,
    current: variables,
    settled: valid,
    onText: (text: string) => draft.change({ text }),
  }
}

/** Saves, unless somebody else has saved something since this editor read the template. */
const useSaveTemplate = ({ template: { id }, onSaved }: Props, content: Content, given: Parts) => {
  const [base, setBase] = useState(given)
  const [conflict, setConflict] = useState<Template>()
  const write = async (saved: Template) => {
    const body = changesIn(content.now(), saved)
    const params = { query: { id } }
    const isNew = Object.keys(body).length > 0
    const after = isNew ? await unwrap(api.PATCH('/api/internal/templates', { params, body })) : saved
    setConflict(undefined)
    setBase(partsOf(after))
    onSaved(after)
    toast(editor.saved)
  }
  const form = useSave(() => readTemplate(id), {
    done: async (saved) => {
      if (isChangedSince(base, saved)) setConflict(saved)
      else await write(saved)
    },
  })
  return { ...form, base, conflict, keepEditing: () => setConflict(undefined), overwrite: write }
}

const Editor = (props: Props) => {
  const { template, onSaved, onDiscard } = props
  const { id, channel, slug } = template
  const [draft] = useState(() => readDraft(id) ?? { parts: partsOf(template), base: partsOf(template) })
  const [content] = useState(() => makeContent(draft.parts))
  const parts = useSyncExternalStore(content.subscribe, content.settled)
  const variables = useVariables(id)
  const { preview, error } = usePreview(content, { id, channel, parts, variables: variables.settled })
  const problems = useMemo(() => (preview ? problemsOf(preview) : noProblems), [preview])
  const form = useSaveTemplate(props, content, draft.base)
  const dirty = Object.keys(changesIn(parts, template)).length > 0
  const { base } = form
  useEffect(() => keepDraft(id, dirty ? { parts, base } : undefined), [id, dirty, parts, base])
  const why = variables.fault ? editor.fixVariables : undefined
  return (
    <Page
      title={slug}
      actions={
        <>
          {dirty && <Badge tone="warn">{editor.unsaved}</Badge>}
          {dirty && (
            <Button look="quiet" onClick={onDiscard}>
              {editor.discard}
            </Button>
          )}
          <TestSend template={template} variables={variables.current ?? {}} reason={dirty ? editor.saveFirst : why} />
          <Button
            look="primary"
            gate="requireDeveloperSession"
            busy={form.busy}
            reason={dirty ? undefined : editor.nothingToSave}
            onClick={() => form.save()}
          >
            {editor.save}
          </Button>
        </>
      }
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge>{templates.channels[channel]}</Badge>
        <Copyable text={id} />
      </div>
      <ErrorNote error={form.rest} />
      <div className="grid gap-6 lg:grid-cols-2">
        <PartsEditor channel={channel} content={content} problems={problems} faultIn={form.faultIn} />
        <div className="flex min-w-0 flex-col gap-4">
          <VariablesField
            text={variables.text}
            onText={variables.onText}
            missing={preview?.missing ?? []}
            fault={variables.fault}
          />
          <PreviewPane
            template={template}
            result={preview?.result}
            error={error}
            variables={variables.current ?? variables.settled}
          />
        </div>
      </div>
      <TemplateSettings key={slug} template={template} onSaved={onSaved} />
      <SaveConflict
        saved={form.conflict}
        onClose={form.keepEditing}
        onReload={(saved) => {
          onSaved(saved)
          onDiscard()
        }}
        onOverwrite={form.overwrite}
      />
    </Page>
  )
}

const TemplatePage = () => {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const client = useQueryClient()
  const [discards, setDiscards] = useState(0)
  const { data, error } = useTemplate(id)
  if (error) {
    return (
      <Page title={editor.title}>
        <ErrorNote error={error} />
      </Page>
    )
  }
  if (!data) return <PageSkeleton />
  const saved = (template: Template) => {
    client.setQueryData(['templates', id], template)
    void client.invalidateQueries({ queryKey: ['templates', 'list'] })
  }
  const discard = () => {
    keepDraft(id, undefined)
    setDiscards(discards + 1)
    toast(editor.discarded)
  }
  return <Editor key={`${id}:${discards}`} template={data} onSaved={saved} onDiscard={discard} />
}

export default TemplatePage
