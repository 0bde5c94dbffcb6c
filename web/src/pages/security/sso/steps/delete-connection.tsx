import { api, unwrap } from '../../../../api/client.ts'
import { useOrg } from '../../../../api/session.ts'
import { ssoQuery } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { DangerSection } from '../../../../ui/confirm-dialog.tsx'

export const DeleteConnection = () => (
  <DangerSection
    heading={sso.deleteTitle}
    help={sso.deleteHelp}
    gate="requireOwnerSession"
    title={sso.deleteConfirm}
    action={sso.delete}
    typed={useOrg()?.name}
    onConfirm={() => unwrap(api.DELETE('/api/internal/sso'))}
    message={sso.deleted}
    refreshes={[ssoQuery.queryKey]}
  />
)
