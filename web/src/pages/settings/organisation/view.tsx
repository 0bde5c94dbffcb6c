import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../../../api/client.ts'
import { enterAt } from '../../../api/enter.ts'
import { LeaveOrg } from '../../../parts/leave-org.tsx'
import { organisation } from '../../../strings/settings.ts'
import { shell } from '../../../strings/shell.ts'
import { DangerSection } from '../../../ui/confirm-dialog.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Page, Section } from '../../../ui/templates.tsx'
import { General, type OwnOrg } from './general.tsx'
import { SessionPolicy } from './session-policy.tsx'

const Deletion = ({ org }: { org: OwnOrg }) => (
  <DangerSection
    heading={organisation.deleteTitle}
    help={organisation.deleteHelp}
    gate="requireOwnerSession"
    title={organisation.deleteConfirm(org.name)}
    action={organisation.deleteAction}
    typed={org.slug}
    onConfirm={(confirm) => unwrap(api.DELETE('/api/internal/org', { body: { confirm } }))}
    done={({ redirect_to }) => enterAt(redirect_to)}
  >
    {organisation.deleteWarning}
  </DangerSection>
)

const OrganisationPage = () => {
  const { data: org, error } = useQuery({
    queryKey: ['org'],
    queryFn: () => unwrap(api.GET('/api/internal/org')),
  })
  return (
    <Page title={organisation.title} width="form">
      <ErrorNote error={error} />
      {org ? <General key={org.id} org={org} /> : !error && <Skeleton className="h-80 w-full" />}
      <SessionPolicy />
      {org && (
        <Section
          danger
          title={shell.leaveOrg}
          description={shell.leaveHelp}
          actions={<LeaveOrg id={org.id} name={org.name} look="danger" />}
        />
      )}
      {org && <Deletion org={org} />}
    </Page>
  )
}

export default OrganisationPage
