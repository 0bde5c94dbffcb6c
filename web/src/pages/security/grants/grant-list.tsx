import { type ReactNode, useState } from 'react'
import type { operations } from '../../../api/schema.gen.ts'
import { grants } from '../../../strings/oauth.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import type { Column } from '../../../ui/table.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { toast } from '../../../ui/toasts.tsx'
import type { usePages } from '../../../ui/use-pages.ts'

type Grant = operations['getApiInternalOauthGrants']['responses'][200]['content']['application/json']['data'][number]

const shownScopes = 3

const Scopes = ({ scopes }: { scopes: readonly string[] }) => (
  <span className="flex items-center gap-1" title={scopes.join(', ')}>
    {scopes.slice(0, shownScopes).map((name) => (
      <Badge key={name}>{name}</Badge>
    ))}
    {scopes.length > shownScopes && (
      <span className="text-muted text-xs">{grants.more(scopes.length - shownScopes)}</span>
    )}
  </span>
)

type About = { header: string; cell: (grant: Grant) => ReactNode }

const columnsOf = (about: About, onEnd: (grant: Grant) => void): Column<Grant>[] => [
  { id: 'client', header: grants.client, cell: ({ client_name }) => client_name },
  {
    id: 'about',
    header: about.header,
    cell: (grant) => <span className="block max-w-32 truncate sm:max-w-72">{about.cell(grant)}</span>,
  },
  {
    id: 'scopes',
    header: grants.scopes,
    className: 'hidden md:table-cell',
    cell: ({ scopes }) => <Scopes scopes={scopes} />,
  },
  timeColumn('created_at', grants.granted, { className: 'hidden md:table-cell' }),
  timeColumn('last_used_at', grants.used, { className: 'hidden sm:table-cell' }),
  {
    id: 'actions',
    header: <span className="sr-only">{grants.actions}</span>,
    align: 'right',
    cell: (grant) => (
      <Button size="small" look="quiet" aria-label={grants.endLabel(grant.client_name)} onClick={() => onEnd(grant)}>
        {grants.end}
      </Button>
    ),
  },
]

type Props = {
  label: string
  empty: string
  list: ReturnType<typeof usePages<Grant>>
  about: About
  end: (id: string) => Promise<void>
}

export const GrantList = ({ label, empty, list, about, end }: Props) => {
  const [asked, setAsked] = useState<Grant>()
  const name = asked?.client_name ?? ''
  return (
    <>
      <ListTable
        label={label}
        list={list}
        columns={columnsOf(about, setAsked)}
        empty={<EmptyState title={empty}>{grants.noneHelp}</EmptyState>}
      />
      <ConfirmDialog
        open={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={grants.endTitle(name)}
        action={grants.endLabel(name)}
        onConfirm={async () => {
          await end(asked?.id ?? '')
          toast(grants.ended(name))
        }}
      >
        {grants.endHelp}
      </ConfirmDialog>
    </>
  )
}
