import { type ReactNode, useState } from 'react'
import { ui } from '../strings/ui.ts'
import { CodeBlock } from './code-block.tsx'
import { Tabs } from './tabs.tsx'

type Props = {
  icon?: ReactNode
  title: string
  /** What this is, and why you would want it. */
  children: ReactNode
  action?: ReactNode
  /** The request that makes the first one. */
  curl?: string
}

const Body = ({ icon, title, children, action }: Props) => (
  <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
    {icon && <div className="mb-1 text-faint">{icon}</div>}
    <h2 className="font-semibold text-base">{title}</h2>
    <div className="max-w-md text-muted text-sm">{children}</div>
    {action && <div className="mt-2">{action}</div>}
  </div>
)

export const EmptyState = (props: Props) => {
  const [tab, setTab] = useState('about')
  if (!props.curl) {
    return (
      <div className="rounded-md border">
        <Body {...props} />
      </div>
    )
  }
  const tabs = [
    { id: 'about', label: ui.about, panel: <Body {...props} /> },
    { id: 'curl', label: 'curl', panel: <CodeBlock code={props.curl} label="curl" /> },
  ]
  return (
    <div className="rounded-md border px-4 pt-1 pb-4">
      <Tabs tabs={tabs} value={tab} onValue={setTab} label={props.title} />
    </div>
  )
}
