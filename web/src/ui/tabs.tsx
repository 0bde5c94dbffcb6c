import { Tabs as Base } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'

export type Tab = {
  id: string
  label: ReactNode
  panel: ReactNode
  /** Keeps the panel while another tab is open, such as an editor with its history. */
  keep?: boolean
}

type Props = { tabs: readonly Tab[]; value: string; onValue: (id: string) => void; label: string }

/** The open tab belongs into the URL: pass a value from `useFilters`. */
export const Tabs = ({ tabs, value, onValue, label }: Props) => (
  <Base.Root value={value} onValueChange={(id) => onValue(String(id))}>
    <Base.List aria-label={label} className="flex gap-4 overflow-x-auto border-b">
      {tabs.map((tab) => (
        <Base.Tab
          key={tab.id}
          value={tab.id}
          className="-mb-px h-9 whitespace-nowrap border-transparent border-b-2 text-muted text-sm hover:text-text data-[active]:border-accent data-[active]:font-medium data-[active]:text-text"
        >
          {tab.label}
        </Base.Tab>
      ))}
    </Base.List>
    {tabs.map((tab) => (
      <Base.Panel key={tab.id} value={tab.id} keepMounted={tab.keep ?? false} className="pt-4 outline-offset-4">
        {tab.panel}
      </Base.Panel>
    ))}
  </Base.Root>
)
