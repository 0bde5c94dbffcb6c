/** Why an organisation is closed to this session, and the way in. */

import { stepUpPrompt } from '../api/prompt.ts'
import { useSession } from '../api/session.ts'
import { LeaveOrg } from '../parts/leave-org.tsx'
import { ssoAddress } from '../parts/sign-in/sso-address.ts'
import { shell } from '../strings/shell.ts'
import { Button, buttonClasses } from '../ui/button.tsx'
import { Page } from '../ui/templates.tsx'
import { useSwitchOrg } from './org-switcher.tsx'

type Refusal = { code: string; login_url?: string | undefined; exemption_needed?: true | undefined }

/** The identity provider does not sign in everybody. Then only an owner can help. */
export const WayIn = ({ refusal, back }: { refusal: Refusal; back: string }) => {
  if (refusal.code === 'STEP_UP_REQUIRED') {
    return (
      <Button look="primary" onClick={() => void stepUpPrompt.ask()}>
        {shell.stepUpNow}
      </Button>
    )
  }
  if (refusal.login_url === undefined || refusal.exemption_needed) return null
  return (
    <a href={ssoAddress(refusal.login_url, back)} className={buttonClasses('primary')}>
      {shell.withProvider}
    </a>
  )
}

/** In place of every page that needs the organisation. */
const ClosedOrgPage = () => {
  const { closed_org: closed, orgs = [] } = useSession()
  const switchOrg = useSwitchOrg()
  if (!closed) return null
  return (
    <Page title={shell.closedTitle(closed.name)} width="form" description={closed.error}>
      <div className="flex flex-wrap gap-2">
        <WayIn refusal={closed} back={location.pathname + location.search} />
        {orgs
          .filter(({ id }) => id !== closed.id)
          .map(({ id, name }) => (
            <Button key={id} className="max-w-full" onClick={() => void switchOrg(id)}>
              <span className="truncate">{shell.openOrg(name)}</span>
            </Button>
          ))}
        <LeaveOrg id={closed.id} name={closed.name} />
      </div>
    </Page>
  )
}

export default ClosedOrgPage
