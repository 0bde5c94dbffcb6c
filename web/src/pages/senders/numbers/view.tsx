import { numbers } from '../../../strings/senders.ts'
import { Page } from '../../../ui/templates.tsx'
import { CreateButton, SenderList } from '../sender-list.tsx'
import { numberKind } from './number-kind.ts'

const NumbersPage = () => (
  <Page title={numbers.title} description={numbers.help} actions={<CreateButton kind={numberKind} />}>
    <SenderList kind={numberKind} />
  </Page>
)

export default NumbersPage
