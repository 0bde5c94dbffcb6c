import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { LeaveOrg } from '../../../shell/leave-org.tsx'
import { organisation } from '../../../strings/settings.ts'
import { shell } from '../../../strings/shell.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Page, Section } from '../../../ui/templates.tsx'
import { enterAt } from '../../sign-in/enter.ts'
import { General, type OwnOrg } from './general.tsx'
import { SessionPolicy } from './session-policy.tsx'

const Deletion = ({ org }: { org: OwnOrg }) => {
  const [asked, setAsked] = useState(false)
  const remove = async (confirm: string) => {
    const { redirect_to } = await unwrap(api.DELETE('/api/internal/org', { body: { confirm } }))
    enterAt(redirect_to)
  }
  return (
    <>
      <Section
        danger
        title={organisation.deleteTitle}
        description={organisation.deleteHelp}
        actions={
          <Button look="danger" gate="requireOwnerSession" onClick={() => setAsked(true)}>
            {organisation.deleteAction}
          </Button>
        }
      />
      <ConfirmDialog
        open={asked}
        onClose={() => setAsked(false)}
        title={organisation.deleteConfirm(org.name)}
        action={organisation.deleteAction}
        typed={org.slug}
        onConfirm={remove}
      >
        {organisation.deleteWarning}
      </ConfirmDialog>
    </>
  )
}

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
