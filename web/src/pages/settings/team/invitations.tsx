import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { team } from '../../../strings/settings.ts'
import { Badge, StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmButton } from '../../../ui/confirm-dialog.tsx'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import type { Column } from '../../../ui/table.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { toastError } from '../../../ui/toasts.tsx'
import { pageOf, usePages } from '../../../ui/use-pages.ts'
import { useSave } from '../../../ui/use-save.ts'

type Invitation =
  operations['getApiInternalTeamInvite']['responses'][200]['content']['application/json']['data'][number]

const InvitationActions = ({ invitation: { id, email } }: { invitation: Invitation }) => {
  const { save, busy } = useSave(() => unwrap(api.PATCH('/api/internal/team/invite', { body: { id } })), {
    message: team.resent(email),
    refreshes: [['team']],
    failed: toastError,
  })
  const revoke = () => unwrap(api.DELETE('/api/internal/team/invite', { params: { query: { id } } }))
  return (
    <div className="flex justify-end gap-1">
      <Button size="small" look="quiet" gate="requireOwnerSession" busy={busy} onClick={() => save()}>
        {team.resend}
      </Button>
      <ConfirmButton
        size="small"
        look="quiet"
        gate="requireOwnerSession"
        title={team.revokeTitle}
        action={team.revoke}
        onConfirm={revoke}
        message={team.revoked(email)}
        refreshes={[['team']]}
      >
        {team.revokeHelp(email)}
      </ConfirmButton>
    </div>
  )
}

const columns: Column<Invitation>[] = [
  {
    id: 'email',
    header: team.email,
    cell: ({ email, sso_exempt }) => (
      <div className="flex flex-wrap items-center gap-x-1.5 py-1">
        <span className="truncate">{email}</span>
        {sso_exempt && <Badge>{team.ssoExempt}</Badge>}
      </div>
    ),
  },
  { id: 'role', header: team.role, className: 'w-28 capitalize', cell: ({ role }) => role },
  {
    id: 'status',
    header: team.status,
    className: 'hidden w-28 md:table-cell capitalize',
    cell: ({ status }) => <StatusDot tone={status === 'pending' ? 'info' : 'warn'}>{status}</StatusDot>,
  },
  {
    id: 'by',
    header: team.invitedBy,
    className: 'hidden w-40 lg:table-cell',
    cell: ({ invited_by }) => invited_by?.name ?? '–',
  },
  timeColumn('expires_at', team.expires, { className: 'hidden w-28 md:table-cell', due: true }),
  {
    id: 'actions',
    header: <span className="sr-only">{team.actions}</span>,
    className: 'w-44',
    align: 'right',
    cell: (invitation) => <InvitationActions invitation={invitation} />,
  },
]

export const Invitations = () => {
  const list = usePages(['team', 'invitations'], (cursor) =>
    unwrap(api.GET('/api/internal/team/invite', { params: { query: pageOf(cursor, 50) } })),
  )
  return (
    <ListTable
      label={team.invitations}
      list={list}
      columns={columns}
      empty={<EmptyState title={team.invitations}>{team.noInvitations}</EmptyState>}
    />
  )
}
