import { LeaveOrg } from '../parts/leave-org.tsx'
import { shell } from '../strings/shell.ts'
import { Dialog } from '../ui/dialog.tsx'
import { WayIn } from './closed-org.tsx'
import { type RefusedOrg, showRefusedOrg } from './refused-org.ts'

/** After a switch that was refused. The person stays in the organisation where they were. */
const RefusedOrgDialog = ({ org: { id, name, error } }: { org: RefusedOrg }) => {
  const { login_url, exemption_needed } = error.body as { login_url?: string; exemption_needed?: true }
  return (
    <Dialog
      open
      onClose={() => showRefusedOrg(undefined)}
      title={shell.closedTitle(name)}
      description={error.message}
      actions={
        <>
          <LeaveOrg id={id} name={name} />
          <WayIn refusal={{ code: error.code ?? '', login_url, exemption_needed }} back="/" />
        </>
      }
    />
  )
}

export default RefusedOrgDialog
