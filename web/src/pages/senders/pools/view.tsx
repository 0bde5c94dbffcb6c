import { FormResourcePage } from '../../../parts/resource/form-resource-list.tsx'
import { pools } from '../../../strings/senders.ts'
import { poolKind } from './pool-kind.ts'

const PoolsPage = () => <FormResourcePage resource={poolKind} help={pools.help} />

export default PoolsPage
