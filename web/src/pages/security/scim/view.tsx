import { scim } from '../../../strings/scim.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Page, Section } from '../../../ui/templates.tsx'
import { useFilters } from '../../../ui/use-filters.ts'
import { CreateToken } from './create-token.tsx'
import { DirectoryState } from './directory-state.tsx'
import { GroupRoles } from './group-roles.tsx'
import { useMapping, useTokens } from './scim-data.ts'
import { TokenList } from './token-list.tsx'

const ScimPage = () => {
  const [{ open }, change] = useFilters({ open: '' })
  const list = useTokens()
  const mapping = useMapping()
  return (
    <Page title={scim.title} description={scim.help} width="form">
      <DirectoryState tokens={list.rows} address={mapping.data?.scim_base_url} />
      <Section
        title={scim.tokens}
        description={scim.tokensHelp}
        actions={
          <Button look="primary" gate="requireOwnerSession" onClick={() => change({ open: 'new' })}>
            {scim.create}
          </Button>
        }
      >
        <TokenList list={list} />
      </Section>
      <ErrorNote error={mapping.error} />
      {mapping.isPending && <Skeleton className="h-48 w-full" />}
      {mapping.data && <GroupRoles mapping={mapping.data} />}
      <CreateToken open={open === 'new'} onClose={() => change({ open: '' })} />
    </Page>
  )
}

export default ScimPage
