import { useState } from 'react'
import { api, unwrap } from '../../../../api/client.ts'
import { useOrg } from '../../../../api/session.ts'
import { sso } from '../../../../strings/sso.ts'
import { Button } from '../../../../ui/button.tsx'
import { ConfirmDialog } from '../../../../ui/confirm-dialog.tsx'
import { Section } from '../../../../ui/templates.tsx'
import { toast } from '../../../../ui/toasts.tsx'
import { useReloadSso } from '../settings.ts'

export const DeleteConnection = () => {
  const [asked, setAsked] = useState(false)
  const org = useOrg()
  const reload = useReloadSso()
  const remove = async () => {
    await unwrap(api.DELETE('/api/internal/sso'))
    toast(sso.deleted)
    await reload()
  }
  return (
    <>
      <Section
        danger
        title={sso.deleteTitle}
        description={sso.deleteHelp}
        actions={
          <Button look="danger" gate="requireOwnerSession" onClick={() => setAsked(true)}>
            {sso.delete}
          </Button>
        }
      />
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={sso.deleteConfirm}
        action={sso.delete}
        typed={org?.name}
        onConfirm={remove}
      >
        {sso.deleteHelp}
      </ConfirmDialog>
    </>
  )
}
