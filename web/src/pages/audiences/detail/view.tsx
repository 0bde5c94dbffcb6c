import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import { audiences } from '../../../strings/audiences.ts'
import { blasts } from '../../../strings/blasts.ts'
import { Button, buttonClasses } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { DangerSection } from '../../../ui/confirm-dialog.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { PageSkeleton } from '../../../ui/skeleton.tsx'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { useNavigateFromHere } from '../../../ui/use-navigate-from-here.ts'
import type { Audience } from '../use-contacts.ts'
import { ImportCsv } from './import-csv.tsx'
import { AudienceMembers } from './members.tsx'

const ExportLink = ({ id }: { id: string }) => {
  const refusal = useRefusal('requireOwnerSession')
  if (refusal) return <Button reason={refusal}>{audiences.export}</Button>
  return (
    <a href={`/api/internal/audiences/${id}/export-csv`} download className={buttonClasses()}>
      {audiences.export}
    </a>
  )
}

const Deletion = ({ audience: { id, name, slug } }: { audience: Audience }) => {
  const client = useQueryClient()
  const navigate = useNavigateFromHere()
  const remove = () => unwrap(api.DELETE('/api/internal/audiences', { params: { query: { id } } }))
  return (
    <DangerSection
      help={audiences.deleteHelp}
      gate="requireDeveloperSession"
      title={audiences.deleteTitle(name)}
      action={audiences.delete}
      typed={slug}
      onConfirm={remove}
      message={audiences.deleted(name)}
      done={async () => {
        await client.resetQueries({ queryKey: ['audiences'], exact: true })
        await navigate({ to: '/audiences' })
        client.removeQueries({ queryKey: ['audiences', id] })
      }}
    />
  )
}

const Facts = ({ audience }: { audience: Audience }) => (
  <DetailList
    facts={[
      { name: audiences.members, value: audience.member_count.toLocaleString('en') },
      { name: audiences.slug, value: <Copyable text={audience.slug} /> },
      { name: audiences.id, value: <Copyable text={audience.id} /> },
      { name: audiences.createdAt, value: <RelativeTime at={audience.created_at} /> },
    ]}
  />
)

const AudiencePage = () => {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const navigate = useNavigate()
  const [{ tab }, change] = useFilters({ tab: 'members' })
  const { data, error } = useQuery({
    queryKey: ['audiences', id],
    queryFn: async () => (await unwrap(api.GET('/api/internal/audiences', { params: { query: { id } } }))) as Audience,
  })
  if (error) {
    return (
      <Page title={audiences.title}>
        <ErrorNote error={error} />
      </Page>
    )
  }
  if (!data) return <PageSkeleton />
  return (
    <Page
      title={data.name}
      actions={
        <>
          <ExportLink id={id} />
          <Button
            look="primary"
            gate="requireDeveloperSession"
            onClick={() => void navigate({ to: `/audiences/${id}/send` })}
          >
            {blasts.send}
          </Button>
        </>
      }
    >
      <Facts audience={data} />
      <Tabs
        label={data.name}
        value={tab}
        onValue={(next) => change({ tab: next })}
        tabs={[
          { id: 'members', label: audiences.members, panel: <AudienceMembers id={id} /> },
          { id: 'import', label: audiences.import, panel: <ImportCsv audienceId={id} /> },
          { id: 'api', label: audiences.api, panel: <CodeBlock code={audiences.curlMember(id)} label="curl" /> },
        ]}
      />
      <Deletion audience={data} />
    </Page>
  )
}

export default AudiencePage
