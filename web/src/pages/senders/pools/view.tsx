import { pools } from '../../../strings/senders.ts'
import { Page } from '../../../ui/templates.tsx'
import { CreateButton, SenderList } from '../sender-list.tsx'
import { poolKind } from './pool-kind.ts'

const PoolsPage = () => (
  <Page title={pools.title} description={pools.help} actions={<CreateButton kind={poolKind} />}>
    <SenderList kind={poolKind} />
  </Page>
)

export default PoolsPage
