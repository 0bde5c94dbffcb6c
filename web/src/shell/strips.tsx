import { CloudOff, FlaskConical, OctagonAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { useReachable } from '../api/connection.ts'
import { useMode } from '../api/mode.ts'
import { useOrg } from '../api/session.ts'
import { shell } from '../strings/shell.ts'
import { useReconnect } from './use-reconnect.ts'

const Strip = ({ look, icon, children }: { look: string; icon: ReactNode; children: ReactNode }) => (
  <div role="status" className={`flex min-h-8 items-center justify-center gap-2 border-b px-4 py-1 text-sm ${look}`}>
    {icon}
    <span>{children}</span>
  </div>
)

/** What holds for every page: test mode, a suspended org, a lost connection. */
export const Strips = () => {
  const mode = useMode()
  const org = useOrg()
  const reachable = useReachable()
  useReconnect(reachable)
  return (
    <>
      {mode === 'test' && (
        <Strip look="bg-test font-medium text-test-text" icon={<FlaskConical aria-hidden className="size-4" />}>
          {shell.testStrip}
        </Strip>
      )}
      {org?.suspended && (
        <Strip look="bg-bad-soft text-text" icon={<OctagonAlert aria-hidden className="size-4 text-bad" />}>
          {shell.suspended}
          {org.suspension_reason && ` ${shell.suspendedFor(org.suspension_reason)}`}
        </Strip>
      )}
      {!reachable && (
        <Strip look="bg-warn-soft text-text" icon={<CloudOff aria-hidden className="size-4 text-warn" />}>
          {shell.offline}
        </Strip>
      )}
    </>
  )
}
