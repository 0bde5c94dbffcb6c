import { useOrg } from '../../api/session.ts'
import { overview } from '../../strings/overview.ts'
import { buttonClasses } from '../../ui/button.tsx'
import { Page, Section } from '../../ui/templates.tsx'
import { FirstSteps } from './first-steps.tsx'
import { RecentDays } from './recent-days.tsx'

const OverviewPage = () => (
  <Page title={overview.title} description={overview.about(useOrg()?.name ?? '')}>
    <FirstSteps />
    <RecentDays />
    <Section
      title={overview.reference}
      description={overview.referenceHelp}
      actions={
        <a href="/docs" className={buttonClasses('secondary')}>
          {overview.reference}
        </a>
      }
    />
  </Page>
)

export default OverviewPage
