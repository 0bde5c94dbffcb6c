import { Dialog } from '@base-ui/react/dialog'
import { Outlet, useLocation } from '@tanstack/react-router'
import { Menu as MenuIcon, Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useMode } from '../api/mode.ts'
import { signInPrompt } from '../api/prompt.ts'
import { useSession } from '../api/session.ts'
import { StepUpPrompt } from '../parts/sign-in/step-up-prompt.tsx'
import { shell } from '../strings/shell.ts'
import { PageSkeleton } from '../ui/skeleton.tsx'
import { setRailNarrow, useRailNarrow } from './rail-width.ts'
import { useRefusedOrg } from './refused-org.ts'
import { IconPanel, SidePanel } from './side-panel.tsx'
import { Strips } from './strips.tsx'
import { useShortcuts } from './use-shortcuts.ts'

const CommandPalette = lazy(() => import('./command-palette.tsx'))
const KeyHelp = lazy(() => import('./key-help.tsx'))
const SignInAgain = lazy(() => import('./sign-in-again.tsx'))
const ClosedOrgPage = lazy(() => import('./closed-org.tsx'))
const RefusedOrgDialog = lazy(() => import('./refused-org-dialog.tsx'))

/** Pages of the person, which need no organisation. */
const personal = /^\/(?:account|orgs)\//

type NarrowProps = { open: boolean; onOpen: (open: boolean) => void; onSearch: () => void; tint: string }

/** The rail of a narrow screen, behind a button. */
const NarrowRail = ({ open, onOpen, onSearch, tint }: NarrowProps) => (
  <Dialog.Root open={open} onOpenChange={onOpen}>
    <header className={`flex h-12 shrink-0 items-center gap-2 border-b px-2 md:hidden ${tint}`}>
      <Dialog.Trigger
        aria-label={shell.openNavigation}
        className="flex size-9 items-center justify-center rounded-md hover:bg-hover"
      >
        <MenuIcon aria-hidden className="size-5" />
      </Dialog.Trigger>
      <span className="flex-1 font-semibold">{shell.product}</span>
      <button
        type="button"
        aria-label={shell.find}
        onClick={onSearch}
        className="flex size-9 items-center justify-center rounded-md hover:bg-hover"
      >
        <Search aria-hidden className="size-5" />
      </button>
    </header>
    <Dialog.Portal>
      <Dialog.Backdrop className="fade fixed inset-0 z-40 bg-black/40 md:hidden" />
      <Dialog.Popup className={`fade fixed inset-y-0 left-0 z-40 flex w-72 flex-col border-r md:hidden ${tint}`}>
        <Dialog.Title className="sr-only">{shell.navigation}</Dialog.Title>
        <SidePanel onSearch={onSearch} />
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)

export const Shell = () => {
  const [panel, setPanel] = useState<'palette' | 'keys' | undefined>()
  const [railOpen, setRailOpen] = useState(false)
  const { pathname } = useLocation()
  const asked = signInPrompt.useAsked()
  const refused = useRefusedOrg()
  const { closed_org: closed } = useSession()
  const narrow = useRailNarrow()
  const tint = useMode() === 'test' ? 'bg-test' : 'bg-surface'
  useShortcuts({ onPalette: () => setPanel('palette'), onHelp: () => setPanel('keys') })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the rail of a narrow screen
  useEffect(() => setRailOpen(false), [pathname])
  useEffect(() => {
    signInPrompt.enable(true)
    return () => signInPrompt.enable(false)
  }, [])
  const search = () => {
    setRailOpen(false)
    setPanel('palette')
  }
  return (
    <div className="flex h-full flex-col md:flex-row">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-raised px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {shell.skip}
      </a>
      <aside className={`hidden shrink-0 flex-col border-r md:flex ${narrow ? 'w-14' : 'w-60'} ${tint}`}>
        {narrow ? (
          <IconPanel onSearch={search} onExpand={() => setRailNarrow(false)} />
        ) : (
          <SidePanel onSearch={search} onCollapse={() => setRailNarrow(true)} />
        )}
      </aside>
      <NarrowRail open={railOpen} onOpen={setRailOpen} onSearch={search} tint={tint} />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <Strips />
        <main id="content" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto outline-none">
          <Suspense fallback={<PageSkeleton />}>
            {closed && !personal.test(pathname) ? <ClosedOrgPage /> : <Outlet />}
          </Suspense>
        </main>
      </div>
      <Suspense>
        {panel === 'palette' && <CommandPalette onClose={() => setPanel(undefined)} onHelp={() => setPanel('keys')} />}
        {panel === 'keys' && <KeyHelp onClose={() => setPanel(undefined)} />}
        {asked && <SignInAgain />}
        {refused && <RefusedOrgDialog org={refused} />}
      </Suspense>
      <StepUpPrompt />
    </div>
  )
}
