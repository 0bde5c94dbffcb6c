import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import type { Role } from '../../../api/session.ts'
import { ssoQuery } from '../../../parts/sso-settings.ts'
import { team } from '../../../strings/settings.ts'
import { Checkbox } from '../../../ui/checkbox.tsx'
import { FormDialog } from '../../../ui/save-form.tsx'
import { SelectField, TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'
import { explainedRoles } from './roles.ts'

export const InviteDialog = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const draft = useDraft('invite', { email: '', role: 'developer' as Role, exempt: false })
  const { data: sso } = useQuery({ ...ssoQuery, enabled: open })
  const { email, role, exempt } = draft.value
  const form = useSave(
    () => {
      const body = { email, role, sso_exempt: sso?.enforced === true && exempt }
      return unwrap(api.POST('/api/internal/team/invite', { body }))
    },
    {
      message: (invitation) => team.invited(invitation.email),
      done: () => {
        draft.forget()
        onClose()
      },
      refreshes: [['team']],
    },
  )
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title={team.invite}
      description={team.inviteHelp}
      onSubmit={form.save}
      form={form}
      gate="requireOwnerSession"
      action={team.sendInvitation}
    >
      <TextField
        label={team.email}
        error={form.fault('email')}
        type="email"
        value={email}
        onText={(text) => draft.change({ email: text })}
      />
      <SelectField
        label={team.role}
        error={form.fault('role')}
        options={explainedRoles}
        value={role}
        onValue={(value) => draft.change({ role: value as Role })}
        className="w-full"
      />
      {sso?.enforced && (
        <Checkbox
          label={team.inviteExempt}
          checked={exempt}
          onChecked={(checked) => draft.change({ exempt: checked })}
        />
      )}
    </FormDialog>
  )
}
