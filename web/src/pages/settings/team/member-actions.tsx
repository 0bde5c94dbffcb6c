import { useQueryClient } from '@tanstack/react-query'
import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import { can } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import { useRole, useUser } from '../../../api/session.ts'
import { team } from '../../../strings/settings.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { toast } from '../../../ui/toasts.tsx'
import type { TeamMember } from './member-role.tsx'

type Props = { member: TeamMember; primaryOwnerId: string | undefined }

export const MemberActions = ({ member, primaryOwnerId }: Props) => {
  const client = useQueryClient()
  const user = useUser()
  const isOwner = can(useRole(), 'requireOwnerSession')
  const [asked, setAsked] = useState<'remove' | 'transfer' | 'exempt'>()
  if (!isOwner || member.user_id === user.id) return null
  const close = () => setAsked(undefined)
  const remove = async () => {
    await unwrap(api.DELETE('/api/internal/team/members', { params: { query: { id: member.id } } }))
    toast(team.removed(member.name))
    await client.invalidateQueries({ queryKey: ['team'] })
  }
  const transfer = async () => {
    await unwrap(api.POST('/api/internal/org/transfer-ownership', { body: { user_id: member.user_id } }))
    toast(team.transferred(member.name))
    await client.invalidateQueries()
  }
  const { sso_exempt: exempt } = member
  const changeExemption = async () => {
    const body = { id: member.id, sso_exempt: !exempt }
    await unwrap(api.PATCH('/api/internal/team/members', { body }))
    toast(exempt ? team.exemptionEnded(member.name) : team.exempted(member.name))
    await client.invalidateQueries({ queryKey: ['team'] })
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
      >
        {exempt ? team.endExemptionHelp : team.exemptHelp}
      </ConfirmDialog>
      <ConfirmDialog
        open={asked === 'remove'}
        onClose={close}
        title={team.removeTitle(member.name)}
        action={team.removeAction}
        onConfirm={remove}
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
      >
        {team.transferHelp}
      </ConfirmDialog>
    </>
  )
}
