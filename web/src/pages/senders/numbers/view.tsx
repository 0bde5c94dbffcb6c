import { FormResourcePage } from '../../../parts/resource/form-resource-list.tsx'
import { numbers } from '../../../strings/senders.ts'
import { numberKind } from './number-kind.ts'

const NumbersPage = () => <FormResourcePage resource={numberKind} help={numbers.help} />

export default NumbersPage
