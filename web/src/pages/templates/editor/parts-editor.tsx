import { lazy, Suspense, useMemo, useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import type { Channel } from '../../../parts/template-data.ts'
import { editor } from '../../../strings/templates.ts'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { type Tab, Tabs } from '../../../ui/tabs.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import type { Content, Part } from './content.ts'
import { type FoundProblem, Problems } from './problems.tsx'

const CodeEditor = lazy(() => import('./code-editor.tsx'))

type Props = {
  channel: Channel
  content: Content
  problems: readonly FoundProblem[]
  faultIn: (part: Part) => string | undefined
}

const labels = { html: editor.htmlEditor, text: editor.textEditor } as const

type BodyProps = Props & { part: 'html' | 'text'; going: FoundProblem | undefined }

const Body = ({ part, content, problems, faultIn, going }: BodyProps) => {
  const readOnly = useRefusal('requireDeveloperSession') !== undefined
  const own = useMemo(() => problems.filter((problem) => problem.part === part), [problems, part])
  const [initial] = useState(() => content.now()[part])
  const fault = faultIn(part)
  return (
    <Suspense fallback={<Skeleton className="h-[28rem] w-full" />}>
      <CodeEditor
        initial={initial}
        language={part}
        label={labels[part]}
        readOnly={readOnly}
        problems={own}
        place={going?.part === part ? going : undefined}
        onChange={(read) => content.write(part, read)}
      />
      {fault && (
        <p role="alert" className="mt-1 text-bad text-sm">
          {fault}
        </p>
      )}
    </Suspense>
  )
}

const Subject = ({ content, problems, faultIn }: Props) => {
  const readOnly = useRefusal('requireDeveloperSession') !== undefined
  const [initial] = useState(() => content.now().subject)
  const problem = problems.find(({ part, severity }) => part === 'subject' && severity === 'warning')
  return (
    <Field label={editor.subject} error={faultIn('subject') ?? problem?.message}>
      <Input
        defaultValue={initial}
        maxLength={998}
        readOnly={readOnly}
        onChange={({ target }) => content.write('subject', () => target.value)}
      />
    </Field>
  )
}

export const PartsEditor = (props: Props) => {
  const [{ part }, change] = useFilters({ part: '' })
  const [going, setGoing] = useState<FoundProblem>()
  const isEmail = props.channel === 'email'
  const body = (name: 'html' | 'text'): Tab => ({
    id: name,
    label: editor[name],
    panel: <Body {...props} part={name} going={going} />,
    keep: true,
  })
  const tabs = isEmail ? [body('html'), body('text')] : [body('text')]
  const shown = tabs.find(({ id }) => id === part)?.id ?? (tabs[0]?.id as string)
  const go = (problem: FoundProblem) => {
    if (problem.part !== 'subject') change({ part: problem.part === tabs[0]?.id ? '' : problem.part })
    setGoing({ ...problem })
  }
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {isEmail && <Subject {...props} />}
      <Tabs label={editor.parts} tabs={tabs} value={shown} onValue={(next) => change({ part: next })} />
      <Problems problems={props.problems} onGo={go} />
    </div>
  )
}
