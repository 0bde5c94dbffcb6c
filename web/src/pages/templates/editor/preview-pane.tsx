import { MailFrame } from '../../../mail/mail-frame.tsx'
import type { Template, TemplatePreview } from '../../../parts/template-data.ts'
import type { Variables } from '../../../parts/template-variables.ts'
import { editor } from '../../../strings/templates.ts'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { curl } from '../../../ui/curl.ts'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { PlainText } from '../../../ui/plain-text.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { type Tab, Tabs } from '../../../ui/tabs.tsx'
import { useFilters } from '../../../ui/use-filters.ts'

const Note = ({ children }: { children: string }) => <p className="text-muted text-sm">{children}</p>

const curlOf = ({ slug, channel }: Template, variables: Variables): string =>
  channel === 'email'
    ? curl('POST', '/emails', { from: 'hello@example.com', to: ['ada@example.com'], template: slug, variables })
    : curl('POST', '/sms', { from: '+14155550100', to: '+14155550199', template: slug, variables })

const tabsOf = (template: Template, result: TemplatePreview | undefined, variables: Variables): Tab[] => {
  const html = result?.html ? (
    <MailFrame of={template.id} html={result.html} title={editor.bodyTitle} />
  ) : (
    <Note>{editor.noHtml}</Note>
  )
  const text = result?.text ? <PlainText text={result.text} /> : <Note>{editor.noText}</Note>
  const loading = <Skeleton className="h-64 w-full" />
  return [
    ...(template.channel === 'email' ? [{ id: 'html', label: editor.html, panel: result ? html : loading }] : []),
    { id: 'text', label: editor.text, panel: result ? text : loading },
    { id: 'api', label: editor.api, panel: <CodeBlock label="curl" code={curlOf(template, variables)} /> },
  ]
}

type Props = { template: Template; result: TemplatePreview | undefined; error: unknown; variables: Variables }

export const PreviewPane = ({ template, result, error, variables }: Props) => {
  const [{ show }, change] = useFilters({ show: '' })
  const tabs = tabsOf(template, result, variables)
  const shown = tabs.find(({ id }) => id === show)?.id ?? (tabs[0]?.id as string)
  return (
    <section aria-label={editor.preview} className="flex min-w-0 flex-col gap-3">
      <ErrorNote error={error} title={editor.previewFailed} />
      {template.channel === 'email' && (
        <p className="min-h-6 break-words font-semibold text-md">{result?.subject ?? ' '}</p>
      )}
      <Tabs label={editor.previewTabs} tabs={tabs} value={shown} onValue={(next) => change({ show: next })} />
    </section>
  )
}
