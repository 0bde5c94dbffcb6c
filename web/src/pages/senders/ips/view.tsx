import { ipPools } from '../../../strings/ip-pools.ts'
import { Page } from '../../../ui/templates.tsx'
import { CreateButton, SenderList } from '../sender-list.tsx'
import { ipPoolKind } from './ip-pool-kind.tsx'

const IpPoolsPage = () => (
  <Page title={ipPools.title} description={ipPools.help} actions={<CreateButton kind={ipPoolKind} />}>
    <SenderList kind={ipPoolKind} />
  </Page>
)

export default IpPoolsPage
