import type { ReactNode } from 'react'

export type Fact = { name: string; value: ReactNode }

/** Facts about a thing in two columns, one below the other on a phone. */
export const DetailList = ({ facts }: { facts: readonly Fact[] }) => (
  <dl className="grid grid-cols-1 gap-x-8 gap-y-3 sm:grid-cols-2">
    {facts.map(({ name, value }) => (
      <div key={name} className="min-w-0">
        <dt className="text-muted text-xs">{name}</dt>
        <dd className="min-w-0 break-words text-sm">{value ?? '–'}</dd>
      </div>
    ))}
  </dl>
)
