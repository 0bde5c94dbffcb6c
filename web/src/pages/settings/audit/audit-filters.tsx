import { useQuery } from '@tanstack/react-query'
import { useEffect, useId, useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { audit } from '../../../strings/audit.ts'
import { Button } from '../../../ui/button.tsx'
import { everyRow, longPage } from '../../../ui/every-row.ts'
import { Input } from '../../../ui/input.tsx'
import { Select } from '../../../ui/select.tsx'
import { FilterBar } from '../../../ui/templates.tsx'

export const noFilters = { action: '', actor: '', type: '', resource: '', from: '', until: '' }
export type AuditFilters = typeof noFilters

/** Two of them fit next to each other on a phone. */
const half = 'max-sm:w-[calc(50%-4px)]'

type Props = { filters: AuditFilters; onChange: (change: Partial<AuditFilters>) => void }

type TextProps = { label: string; value: string; onValue: (text: string) => void; className?: string }

/** Takes effect a moment after the last key, so that each letter is not a request. */
const TextFilter = ({ label, value, onValue, className = 'sm:w-32' }: TextProps) => {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the timer
  useEffect(() => {
    const timer = setTimeout(() => text !== value && onValue(text.trim()), 300)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <Input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
      className={`${half} ${className}`}
    />
  )
}

type DateProps = { label: string; value: string; onValue: (date: string) => void }

const DateFilter = ({ label, value, onValue }: DateProps) => {
  const id = useId()
  return (
    <div className="flex items-center gap-1.5 max-sm:flex-1">
      <label htmlFor={id} className="text-muted text-sm">
        {label}
      </label>
      <Input id={id} type="date" value={value} onChange={(event) => onValue(event.target.value)} className="sm:w-32" />
    </div>
  )
}

export const useMembers = () =>
  useQuery({
    queryKey: ['team', 'actors'],
    queryFn: () => everyRow((cursor) => unwrap(api.GET('/api/internal/team/members', longPage(cursor)))),
    staleTime: 60_000,
  }).data ?? []

export const AuditFilterBar = ({ filters, onChange }: Props) => {
  const members = useMembers()
  const people = members.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} (${email})` }))
  const known = filters.actor === '' || people.some(({ value }) => value === filters.actor)
  const options = [
    { value: '', label: audit.anyActor },
    ...people,
    // Somebody who has left the org.
    ...(known ? [] : [{ value: filters.actor, label: filters.actor }]),
  ]
  const active = Object.values(filters).some(Boolean)
  return (
    <FilterBar>
      <TextFilter
        label={audit.actionHint}
        value={filters.action}
        onValue={(action) => onChange({ action })}
        className="sm:w-44"
      />
      <Select
        aria-label={audit.actor}
        options={options}
        value={filters.actor}
        onValue={(actor) => onChange({ actor })}
        className={`${half} sm:w-44`}
      />
      <TextFilter label={audit.resourceType} value={filters.type} onValue={(type) => onChange({ type })} />
      <TextFilter label={audit.resourceId} value={filters.resource} onValue={(resource) => onChange({ resource })} />
      <DateFilter label={audit.from} value={filters.from} onValue={(from) => onChange({ from })} />
      <DateFilter label={audit.until} value={filters.until} onValue={(until) => onChange({ until })} />
      {active && (
        <Button look="quiet" onClick={() => onChange(noFilters)}>
          {audit.clear}
        </Button>
      )}
    </FilterBar>
  )
}
