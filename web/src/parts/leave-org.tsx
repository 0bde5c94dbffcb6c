/** Ends the own membership, also in an organisation that is closed to this session. */
import { api, unwrap } from '../api/client.ts'
import { enterAt } from '../api/enter.ts'
import { shell } from '../strings/shell.ts'
import { ConfirmButton } from '../ui/confirm-dialog.tsx'

type Props = { id: string; name: string; look?: 'danger' | 'secondary' }

export const LeaveOrg = ({ id, name, look = 'secondary' }: Props) => {
  const leave = () => unwrap(api.DELETE('/api/internal/team/membership', { params: { query: { org_id: id } } }))
  return (
    <ConfirmButton
      look={look}
      title={shell.leaveConfirm(name)}
      action={shell.leaveOrg}
      onConfirm={leave}
      // The session may have ended with it: everything is loaded anew.
      done={() => enterAt('/')}
    >
      {shell.leaveEffect}
    </ConfirmButton>
  )
}
