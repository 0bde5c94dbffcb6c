import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import type { Role } from '../../../api/session.ts'
import { team } from '../../../strings/settings.ts'
import { ui } from '../../../strings/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Checkbox } from '../../../ui/checkbox.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Select } from '../../../ui/select.tsx'
import { Form } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { ssoQuery } from '../../security/sso/settings.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'
import { explainedRoles } from './roles.ts'

export const InviteDialog = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const client = useQueryClient()
  const draft = useDraft('invite', { email: '', role: 'developer' as Role, exempt: false })
  const { data: sso } = useQuery({ ...ssoQuery, enabled: open })
  const form = useSubmit()
  const { email, role, exempt } = draft.value
  const send = () =>
    form.submit(async () => {
      const body = { email, role, sso_exempt: sso?.enforced === true && exempt }
      const invitation = await unwrap(api.POST('/api/internal/team/invite', { body }))
      toast(team.invited(invitation.email))
      draft.forget()
      onClose()
      await client.invalidateQueries({ queryKey: ['team'] })
    })
  return (
    <Dialog open={open} onClose={onClose} title={team.invite} description={team.inviteHelp}>
      <Form
        label={team.invite}
        onSubmit={send}
        error={form.rest}
        actions={
          <>
            <Button type="submit" look="primary" gate="requireOwnerSession" busy={form.busy}>
              {team.sendInvitation}
            </Button>
            <Button onClick={onClose}>{ui.cancel}</Button>
          </>
        }
      >
        <Field label={team.email} error={form.fault('email')}>
          <Input type="email" value={email} onChange={(event) => draft.change({ email: event.target.value })} />
        </Field>
        <Field label={team.role} error={form.fault('role')}>
          <Select
            options={explainedRoles}
            value={role}
            onValue={(value) => draft.change({ role: value as Role })}
            className="w-full"
          />
        </Field>
        {sso?.enforced && (
          <Checkbox
            label={team.inviteExempt}
            checked={exempt}
            onChecked={(checked) => draft.change({ exempt: checked })}
          />
        )}
      </Form>
    </Dialog>
  )
}
