import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import type { Role } from '../../../api/session.ts'
import { team } from '../../../strings/settings.ts'
import { Select } from '../../../ui/select.tsx'
import { toast, toastError } from '../../../ui/toasts.tsx'
import { shortRoles } from './roles.ts'

export type TeamMember =
  operations['getApiInternalTeamMembers']['responses'][200]['content']['application/json']['data'][number]

/** Changes the role at once. The toast undoes it. */
export const MemberRole = ({ member }: { member: TeamMember }) => {
  const client = useQueryClient()
  const refusal = useRefusal('requireOwnerSession')
  // Shown before the service has answered.
  const [chosen, setChosen] = useState<string>()
  const change = async (role: Role, before?: Role): Promise<void> => {
    setChosen(role)
    try {
      await unwrap(api.PATCH('/api/internal/team/members', { body: { id: member.id, role } }))
      toast(team.roleChanged(member.name, role), before && { undo: () => void change(before) })
    } catch (error) {
      toastError(error)
    }
    await client.invalidateQueries({ queryKey: ['team'] })
    setChosen(undefined)
  }
  return (
    <Select
      aria-label={team.roleOf(member.name)}
      title={refusal ?? (member.primary_owner ? team.primaryStays : undefined)}
      disabled={refusal !== undefined || member.primary_owner}
      options={shortRoles}
      value={chosen ?? member.role}
      onValue={(role) => void change(role as Role, member.role as Role)}
    />
  )
}
