import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { scim } from '../../../strings/scim.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import type { Column } from '../../../ui/table.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { hasExpired, type ScimToken, tokensKey, type useTokens } from './scim-data.ts'

const columnsOf = (onRevoke: (token: ScimToken) => void): Column<ScimToken>[] => [
  { id: 'name', header: scim.name, cell: ({ name }) => <span className="font-medium">{name}</span> },
  {
    id: 'status',
    header: scim.status,
    className: 'w-28',
    cell: (token) =>
      hasExpired(token) ? (
        <StatusDot tone="bad">{scim.expired}</StatusDot>
      ) : (
        <StatusDot tone="ok">{scim.active}</StatusDot>
      ),
  },
  timeColumn('created_at', scim.createdAt, { className: 'hidden md:table-cell' }),
  {
    id: 'expires',
    header: scim.expiresAt,
    className: 'hidden md:table-cell',
    cell: ({ expires_at }) => (expires_at ? <RelativeTime due at={expires_at} /> : scim.never),
  },
  {
    id: 'used',
    header: scim.used,
    className: 'hidden sm:table-cell',
    cell: ({ last_used_at }) => (last_used_at ? <RelativeTime at={last_used_at} /> : scim.never),
  },
  {
    id: 'actions',
    header: <span className="sr-only">{scim.actions}</span>,
    align: 'right',
    cell: (token) => (
      <Button
        size="small"
        look="quiet"
        gate="requireOwnerSession"
        aria-label={scim.revokeLabel(token.name)}
        onClick={() => onRevoke(token)}
      >
        {scim.revoke}
      </Button>
    ),
  },
]

export const TokenList = ({ list }: { list: ReturnType<typeof useTokens> }) => {
  const [asked, setAsked] = useState<ScimToken>()
  const name = asked?.name ?? ''
  const revoke = () => unwrap(api.DELETE('/api/internal/scim/tokens', { params: { query: { id: asked?.id ?? '' } } }))
  return (
    <>
      <ListTable
        label={scim.tokens}
        list={list}
        columns={columnsOf(setAsked)}
        empty={<EmptyState title={scim.none}>{scim.noneHelp}</EmptyState>}
      />
      <ConfirmDialog
        open={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={scim.revokeTitle(name)}
        action={scim.revoke}
        typed={name}
        onConfirm={revoke}
        message={scim.revoked(name)}
        refreshes={[tokensKey]}
      >
        {scim.revokeHelp}
      </ConfirmDialog>
    </>
  )
}
