import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRefusal } from '../../../api/can.ts'
import { api, unwrap } from '../../../api/client.ts'
import { useSession } from '../../../api/session.ts'
import { grants } from '../../../strings/oauth.ts'
import { shell } from '../../../strings/shell.ts'
import { EmptyState } from '../../../ui/empty-state.tsx'
import { everyRow, longPage } from '../../../ui/every-row.ts'
import { Tabs } from '../../../ui/tabs.tsx'
import { Page } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { usePages } from '../../../ui/use-pages.ts'
import { GrantList } from './grant-list.tsx'

const key = 'oauth-grants'

const OwnGrants = () => {
  const client = useQueryClient()
  const { orgs = [] } = useSession()
  const list = usePages([key, 'own'], (cursor) =>
    unwrap(api.GET('/api/internal/oauth/grants', { params: { query: { cursor } } })),
  )
  const end = async (id: string) => {
    await unwrap(api.DELETE('/api/internal/oauth/grants', { params: { query: { id } } }))
    await client.invalidateQueries({ queryKey: [key] })
  }
  return (
    <GrantList
      label={grants.own}
      empty={grants.noneOwn}
      list={list}
      about={{ header: grants.org, cell: ({ org_id }) => orgs.find(({ id }) => id === org_id)?.name ?? org_id }}
      end={end}
    />
  )
}

/** The addresses of members. */
const useMemberNames = (enabled: boolean) => {
  const { data } = useQuery({
    queryKey: ['member-names'],
    queryFn: () => everyRow((cursor) => unwrap(api.GET('/api/internal/team/members', longPage(cursor)))),
    enabled,
  })
  return new Map(data?.map(({ user_id, email }) => [user_id, email]))
}

const OrgGrants = () => {
  const client = useQueryClient()
  const refusal = useRefusal('requireOwnerSession')
  const names = useMemberNames(refusal === undefined)
  const list = usePages(
    [key, 'org'],
    (cursor) => unwrap(api.GET('/api/internal/org/oauth-grants', { params: { query: { cursor } } })),
    { enabled: refusal === undefined },
  )
  const end = async (id: string) => {
    await unwrap(api.DELETE('/api/internal/org/oauth-grants', { params: { query: { id } } }))
    await client.invalidateQueries({ queryKey: [key] })
  }
  if (refusal) return <EmptyState title={refusal}>{shell.askOwner}</EmptyState>
  return (
    <GrantList
      label={grants.ofOrg}
      empty={grants.noneOfOrg}
      list={list}
      about={{ header: grants.person, cell: ({ user_id }) => names.get(user_id) ?? user_id }}
      end={end}
    />
  )
}

const GrantsPage = () => {
  const [{ tab }, change] = useFilters({ tab: 'own' })
  const tabs = [
    { id: 'own', label: grants.own, panel: <OwnGrants /> },
    { id: 'org', label: grants.ofOrg, panel: <OrgGrants /> },
  ]
  return (
    <Page title={grants.title} description={grants.description}>
      <Tabs label={grants.title} tabs={tabs} value={tab} onValue={(id) => change({ tab: id })} />
    </Page>
  )
}

export default GrantsPage
