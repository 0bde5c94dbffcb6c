import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { useMode } from '../../../api/mode.ts'
import { useTemplateChoices } from '../../../parts/template-data.ts'
import { readVariables } from '../../../parts/template-variables.ts'
import { compose } from '../../../strings/compose.ts'
import { editor } from '../../../strings/templates.ts'
import { Button } from '../../../ui/button.tsx'
import { RadioGroup } from '../../../ui/check-group.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { curl } from '../../../ui/curl.ts'
import { optionsOf } from '../../../ui/select.tsx'
import { Form, Page, Section } from '../../../ui/templates.tsx'
import { useTenant } from '../../../ui/tenant-filter.tsx'
import { SelectField, TextAreaField, TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import { useSave } from '../../../ui/use-save.ts'
import { attachmentsOf, filesFault, namedAttachments } from './attached-files.ts'
import { EmailAddresses, EmailContent, type FieldsProps } from './email-fields.tsx'
import { FileField } from './file-field.tsx'
import { LabelFields, TenantField } from './label-fields.tsx'
import { emptyDraft, faultsIn, type MessageDraft, readMetadata, requestOf } from './message-draft.ts'
import { SmsAddresses, SmsContent } from './sms-fields.tsx'

const channels = optionsOf(compose.channels)
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

const shownFields = (draft: MessageDraft): string[] => [
  'from',
  'to',
  'scheduled_at',
  'template',
  'tenant_id',
  'tags',
  'metadata',
  ...(draft.channel === 'email' ? ['cc', 'bcc', 'reply_to', 'subject', 'attachments'] : ['dlt_template_id']),
  ...(draft.template ? ['variables'] : draft.channel === 'email' ? ['html', 'text'] : ['body']),
]

/** Content that is written here, or a template. */
const ContentFields = (props: FieldsProps) => {
  const { draft, change, faults } = props
  const { data: rows = [] } = useTemplateChoices(draft.channel)
  const slugs = [...new Set([...rows.map(({ slug }) => slug), draft.template].filter(Boolean))]
  const { fault } = readVariables(draft.variables)
  return (
    <>
      <SelectField
        label={compose.content}
        error={faults.of('template')}
        value={draft.template}
        onValue={(template) => change({ template })}
        options={[
          { value: '', label: compose.write },
          ...slugs.map((slug) => ({ value: slug, label: `${compose.template}: ${slug}` })),
        ]}
      />
      {draft.template !== '' && (
        <TextAreaField
          label={compose.variables}
          help={compose.variablesHelp}
          error={fault ?? faults.of('variables')}
          value={draft.variables}
          rows={4}
          spellCheck={false}
          className="font-mono"
          onText={(text) => change({ variables: text })}
        />
      )}
      {draft.template === '' && (draft.channel === 'email' ? <EmailContent {...props} /> : <SmsContent {...props} />)}
    </>
  )
}

const useSend = (draft: MessageDraft, files: readonly File[], forget: () => void) => {
  const environment = useMode()
  const navigate = useNavigateFromHere()
  const send = async () => {
    const { channel, tenant } = draft
    const body = {
      ...requestOf(draft),
      ...(await attachmentsOf(files)),
      ...(tenant && { tenant_id: tenant }),
      channel,
      environment,
    }
    return unwrap(api.POST('/api/internal/messages/send', { body }))
  }
  return useSave(send, {
    message: ({ status }) => (status === 'scheduled' ? compose.scheduled : compose.sent),
    done: async ({ id }) => {
      forget()
      await navigate({ to: '/messages', search: { open: id } })
    },
    refreshes: [['messages']],
  })
}

/** Why the form cannot be sent yet. */
const problemOf = (draft: MessageDraft, files: readonly File[]): string | undefined => {
  if (draft.template !== '' && readVariables(draft.variables).fault !== undefined) return editor.fixVariables
  return readMetadata(draft.metadata).fault ?? filesFault(files)
}

/** The API takes the tenant from a header, with the identifier that the customer chose. */
const ApiRequest = ({ draft, files }: { draft: MessageDraft; files: readonly File[] }) => {
  const { data: tenant } = useTenant(draft.tenant)
  const code = curl(
    'POST',
    draft.channel === 'email' ? '/emails' : '/sms',
    { ...requestOf(draft), ...namedAttachments(files) },
    tenant?.external_ref ? { 'X-Service-Tenant-Ref': tenant.external_ref } : {},
  )
  return (
    <Section title={compose.api} description={compose.apiHelp}>
      <CodeBlock label="curl" code={code} />
    </Section>
  )
}

const ComposePage = () => {
  const mode = useMode()
  const { value: draft, change, forget } = useDraft('compose', emptyDraft)
  const [chosen, setChosen] = useState<File[]>([])
  const files = draft.channel === 'email' ? chosen : []
  const clear = () => {
    forget()
    setChosen([])
  }
  const form = useSend(draft, files, clear)
  const faults = faultsIn(form.error, shownFields(draft))
  const props = { draft, change, faults }
  return (
    <Page title={compose.title} description={compose.help[mode]} width="form">
      <Form
        label={compose.title}
        wide
        onSubmit={form.save}
        error={faults.rest}
        failure={form.error}
        wrongTitle={compose.notSent}
        actions={
          <>
            <Button
              type="submit"
              look="primary"
              busy={form.busy}
              gate="requireDeveloperSession"
              reason={problemOf(draft, files)}
            >
              {draft.when ? compose.schedule : compose.send}
            </Button>
            <Button
              look="quiet"
              onClick={() => {
                clear()
                form.clear()
              }}
            >
              {compose.clear}
            </Button>
          </>
        }
      >
        <RadioGroup
          legend={compose.channel}
          choices={channels}
          value={draft.channel}
          onValue={(channel) => {
            form.clear()
            change({ channel: channel as MessageDraft['channel'], template: '' })
          }}
        />
        {draft.channel === 'email' ? <EmailAddresses {...props} /> : <SmsAddresses {...props} />}
        <ContentFields {...props} />
        {draft.channel === 'email' && <FileField files={files} onFiles={setChosen} error={faults.of('attachments')} />}
        <LabelFields {...props} />
        <TenantField {...props} />
        <TextField
          label={compose.when}
          optional
          help={compose.whenHelp(zone)}
          error={faults.of('scheduled_at')}
          type="datetime-local"
          value={draft.when}
          className="w-60"
          onText={(text) => change({ when: text })}
        />
      </Form>
      <ApiRequest draft={draft} files={files} />
    </Page>
  )
}

export default ComposePage
