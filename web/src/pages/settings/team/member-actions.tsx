import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import { can } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import { useRole, useUser } from '../../../api/session.ts'
import { team } from '../../../strings/settings.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { everything } from '../../../ui/use-save.ts'
import type { TeamMember } from './member-role.tsx'

type Props = { member: TeamMember; primaryOwnerId: string | undefined }

export const MemberActions = ({ member, primaryOwnerId }: Props) => {
  const user = useUser()
  const isOwner = can(useRole(), 'requireOwnerSession')
  const [asked, setAsked] = useState<'remove' | 'transfer' | 'exempt'>()
  if (!isOwner || member.user_id === user.id) return null
  const close = () => setAsked(undefined)
  const remove = () => unwrap(api.DELETE('/api/internal/team/members', { params: { query: { id: member.id } } }))
  const transfer = () => unwrap(api.POST('/api/internal/org/transfer-ownership', { body: { user_id: member.user_id } }))
  const { sso_exempt: exempt } = member
  const changeExemption = () => {
    const body = { id: member.id, sso_exempt: !exempt }
    return unwrap(api.PATCH('/api/internal/team/members', { body }))
  }
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            aria-label={team.actionsOf(member.name)}
            className="inline-flex size-7 items-center justify-center rounded-md text-muted hover:bg-hover"
          >
            <Ellipsis aria-hidden className="size-4" />
          </button>
        }
        items={[
          ...(exempt || member.sso_access !== 'any'
            ? [{ label: exempt ? team.endExemption : team.exempt, onSelect: () => setAsked('exempt') }]
            : []),
          { label: team.transfer, onSelect: () => setAsked('transfer'), disabled: primaryOwnerId !== user.id },
          { label: team.remove, danger: true, onSelect: () => setAsked('remove'), disabled: member.primary_owner },
        ]}
      />
      <ConfirmDialog
        open={asked === 'exempt'}
        onClose={close}
        title={exempt ? team.endExemptionTitle(member.name) : team.exemptTitle(member.name)}
        action={exempt ? team.endExemption : team.exempt}
        danger={false}
        onConfirm={changeExemption}
        message={exempt ? team.exemptionEnded(member.name) : team.exempted(member.name)}
        refreshes={[['team']]}
      >
        {exempt ? team.endExemptionHelp : team.exemptHelp}
      </ConfirmDialog>
      <ConfirmDialog
        open={asked === 'remove'}
        onClose={close}
        title={team.removeTitle(member.name)}
        action={team.removeAction}
        onConfirm={remove}
        message={team.removed(member.name)}
        refreshes={[['team']]}
      >
        {team.removeHelp}
      </ConfirmDialog>
      <ConfirmDialog
        open={asked === 'transfer'}
        onClose={close}
        title={team.transferTitle(member.name)}
        action={team.transfer}
        typed={member.email}
        onConfirm={transfer}
        message={team.transferred(member.name)}
        refreshes={[everything]}
      >
        {team.transferHelp}
      </ConfirmDialog>
    </>
  )
}
