import { FormResourcePage } from '../../../parts/resource/form-resource-list.tsx'
import { ipPools } from '../../../strings/ip-pools.ts'
import { ipPoolKind } from './ip-pool-kind.tsx'

const IpPoolsPage = () => <FormResourcePage resource={ipPoolKind} help={ipPools.help} />

export default IpPoolsPage
