import { api, unwrap } from '../../../api/client.ts'
import { useUser } from '../../../api/session.ts'
import { team } from '../../../strings/settings.ts'
import { Badge, StatusDot } from '../../../ui/badge.tsx'
import { ListTable } from '../../../ui/list-table.tsx'
import type { Column } from '../../../ui/table.tsx'
import { timeColumn } from '../../../ui/time-column.tsx'
import { pageOf, usePages } from '../../../ui/use-pages.ts'
import { MemberActions } from './member-actions.tsx'
import { MemberRole, type TeamMember } from './member-role.tsx'

const columnsFor = (userId: string, primaryOwnerId: string | undefined): Column<TeamMember>[] => [
  {
    id: 'person',
    header: team.person,
    cell: (member) => (
      <div className="max-w-32 py-1 sm:max-w-none">
        <div className="flex flex-wrap items-center gap-x-1.5">
          <span className="truncate font-medium">{member.name}</span>
          {member.user_id === userId && <Badge>{team.you}</Badge>}
          {member.primary_owner && <Badge tone="info">{team.primary}</Badge>}
          {member.sso_exempt && <Badge>{team.ssoExempt}</Badge>}
          {member.sso_access === 'none' && <Badge tone="warn">{team.ssoClosed}</Badge>}
        </div>
        <div className="truncate text-muted text-xs">{member.email}</div>
      </div>
    ),
  },
  { id: 'role', header: team.role, className: 'min-w-34 md:w-40', cell: (member) => <MemberRole member={member} /> },
  {
    id: 'factor',
    header: team.twoFactor,
    className: 'hidden w-28 md:table-cell',
    cell: ({ two_factor_enabled: on }) => <StatusDot tone={on ? 'ok' : 'neutral'}>{on ? team.on : team.off}</StatusDot>,
  },
  timeColumn('last_active_at', team.lastActive, { className: 'hidden w-32 md:table-cell' }),
  {
    id: 'actions',
    header: <span className="sr-only">{team.actions}</span>,
    className: 'w-12',
    align: 'right',
    cell: (member) => <MemberActions member={member} primaryOwnerId={primaryOwnerId} />,
  },
]

export const Members = () => {
  const user = useUser()
  const list = usePages(['team', 'members'], (cursor) =>
    unwrap(api.GET('/api/internal/team/members', { params: { query: pageOf(cursor, 50) } })),
  )
  const primary = list.rows?.find((member) => member.primary_owner)?.user_id
  return <ListTable label={team.members} list={list} columns={columnsFor(user.id, primary)} />
}
