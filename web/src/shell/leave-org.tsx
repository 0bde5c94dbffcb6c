/** Ends the own membership, also in an organisation that is closed to this session. */
import { useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import { enterAt } from '../pages/sign-in/enter.ts'
import { shell } from '../strings/shell.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'

type Props = { id: string; name: string; look?: 'danger' | 'secondary' }

export const LeaveOrg = ({ id, name, look = 'secondary' }: Props) => {
  const [asked, setAsked] = useState(false)
  const leave = async () => {
    await unwrap(api.DELETE('/api/internal/team/membership', { params: { query: { org_id: id } } }))
    // The session may have ended with it: everything is loaded anew.
    enterAt('/')
  }
  return (
    <>
      <Button look={look} onClick={() => setAsked(true)}>
        {shell.leaveOrg}
      </Button>
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={shell.leaveConfirm(name)}
        action={shell.leaveOrg}
        onConfirm={leave}
      >
        {shell.leaveEffect}
      </ConfirmDialog>
    </>
  )
}
