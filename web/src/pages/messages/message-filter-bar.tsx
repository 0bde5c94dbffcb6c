import { X } from 'lucide-react'
import { messages } from '../../strings/messages.ts'
import { Button } from '../../ui/button.tsx'
import { SearchInput } from '../../ui/search-input.tsx'
import { optionsOf, Select } from '../../ui/select.tsx'
import { FilterBar } from '../../ui/templates.tsx'
import type { MessageFilters } from './message-data.ts'

type Props = {
  filters: MessageFilters
  onChange: (change: Partial<MessageFilters>) => void
  /** The list shows one status only. */
  fixedStatus: boolean
}

export const MessageFilterBar = ({ filters, onChange, fixedStatus }: Props) => (
  <FilterBar>
    <SearchInput label={messages.search} value={filters.q} onValue={(q) => onChange({ q })} />
    <Select
      aria-label={messages.channel}
      value={filters.channel}
      onValue={(channel) => onChange({ channel })}
      options={[{ value: '', label: messages.everyChannel }, ...optionsOf(messages.channels)]}
    />
    {!fixedStatus && (
      <Select
        aria-label={messages.status}
        value={filters.status}
        onValue={(status) => onChange({ status })}
        options={[{ value: '', label: messages.everyStatus }, ...optionsOf(messages.statuses)]}
      />
    )}
    <Select
      aria-label={messages.since}
      value={filters.since}
      onValue={(since) => onChange({ since })}
      options={Object.entries(messages.times)
        .sort(([a], [b]) => Number(a) - Number(b))
        .map(([value, label]) => ({ value, label }))}
    />
    {filters.job && (
      <Button size="small" icon={<X aria-hidden className="size-3.5" />} onClick={() => onChange({ job: '' })}>
        {messages.ofJob(filters.job)}
      </Button>
    )}
  </FilterBar>
)
